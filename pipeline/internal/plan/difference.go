package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxDifferences are named; a plan that differs in more is another one.
const maxDifferences = 5

// beside are the parts of a plan that may differ where its fingerprint does not.
var beside = []string{"fingerprint", "file", "estimate", "notes", "warnings", "looks_before", "attempt", "red", "range", "hash", "work_key", "seconds", "power", "repeats", "family_size", "start_s"}

// Differences names what is not the same in two plans, for people: "targets
// server.vllm.base argv: "--tp 2" then, "--tp 4" now".
func Differences(then, now *Plan) []string {
	var d differences
	d.compare("", generic(then), generic(now))
	if len(d.found) > maxDifferences {
		more := len(d.found) - maxDifferences
		return append(d.found[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return d.found
}

// generic is a plan as it is decoded from JSON.
func generic(p *Plan) any {
	var out any
	if text, err := json.Marshal(p); err == nil { // it was written as JSON before
		_ = json.Unmarshal(text, &out)
	}
	return out
}

type differences struct {
	found []string
	seen  map[string]bool
}

func (d *differences) add(path string, then, now any) {
	text := fmt.Sprintf("%s: %s then, %s now", strings.TrimSpace(path), shown(then), shown(now))
	if head, ok := strings.CutSuffix(path, " settings"); ok { // a hash
		text = strings.TrimSpace(head) + ": its environment, container or other settings"
	}
	if d.seen[text] {
		return // the same in many cells
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	d.seen[text] = true
	d.found = append(d.found, text)
}

func (d *differences) compare(path string, then, now any) {
	switch a := then.(type) {
	case map[string]any:
		if b, ok := now.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	case []any:
		if b, ok := now.([]any); ok {
			d.lists(path, a, b)
			return
		}
	}
	if fmt.Sprint(then) != fmt.Sprint(now) {
		d.add(path, then, now)
	}
}

func (d *differences) objects(path string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Contains(beside, name) {
			d.compare(path+" "+name, a[name], b[name])
		}
	}
}

// lists compares elements by their names where they have some, and else as a whole.
func (d *differences) lists(path string, a, b []any) {
	before, named := byName(a)
	after, alike := byName(b)
	if !named || !alike {
		if fmt.Sprint(a...) != fmt.Sprint(b...) {
			d.add(path, a, b)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			d.found = append(d.found, fmt.Sprintf("%s %s is gone", strings.TrimSpace(path), name))
			continue
		}
		d.compare(path+" "+name, before[name], after[name])
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			d.found = append(d.found, fmt.Sprintf("%s %s is new", strings.TrimSpace(path), name))
		}
	}
}

// byName files the elements of a list by what names them in the file.
func byName(list []any) (map[string]any, bool) {
	out := map[string]any{}
	for _, elem := range list {
		object, ok := elem.(map[string]any)
		if !ok {
			return nil, false
		}
		name, ok := object["addr"].(string)
		if !ok {
			name, ok = object["name"].(string)
		}
		if values, cell := object["values"].([]any); !ok && cell {
			name, ok = fmt.Sprint(values...), true
		}
		if _, dup := out[name]; !ok || dup {
			return nil, false
		}
		out[name] = object
	}
	return out, true
}

// shown is a part of a plan in a sentence.
func shown(v any) string {
	const most = 80
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(text)
}
