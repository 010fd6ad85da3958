package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// hashVersion is part of every cell hash. It changes only when the meaning of the hashed fields does, because
// every stored baseline then loses its match.
const hashVersion = "cell/1"

// Hash returns the identity of a cell: the benchmark's name, the axis values by name and the whole workload. It
// excludes the order of axes and values, the file's name, the target's address and the seed, so a baseline
// survives reordering and moving.
//
// A dataset's file counts by its content, wherever it lies.
//
// It is the first 16 hex digits of the SHA-256 of a JSON text with sorted keys.
func Hash(benchmark string, values []result.AxisValue, w steps.Workload) string {
	axes := make(map[string]string, len(values))
	for _, v := range values {
		axes[v.Name] = v.Value
	}
	return digest(struct {
		Version   string            `json:"version"`
		Benchmark string            `json:"benchmark"`
		Axes      map[string]string `json:"axes"`
		Workload  steps.Workload    `json:"workload"`
	}{hashVersion, benchmark, axes, identified(w)})[:16]
}

// identified returns a workload without the path of a file whose content is known.
func identified(w steps.Workload) steps.Workload {
	if w.Dataset.Sum != "" {
		w.Dataset.Path = ""
	}
	return w
}

// workKey returns a hash of what all sides of a comparison must share: the prompts and the arrivals. Two cells
// with one key get the same requests at the same planned times. It excludes the bound on concurrency, which may
// be the very thing compared.
func workKey(benchmark string, w steps.Workload) string {
	w = identified(w)
	load := w.Load
	load.MaxConcurrency = 0
	return digest(struct {
		Benchmark string        `json:"benchmark"`
		Dataset   steps.Dataset `json:"dataset"`
		Load      steps.Load    `json:"load"`
		Driver    *steps.Driver `json:"driver,omitempty"`
	}{benchmark, w.Dataset, load, w.Driver})[:16]
}

// runSeed returns the seed of one pass of a cell, the same on every side. Repeats count from 1; 0 stands for
// what all repeats share.
func runSeed(seed uint64, repeat int, key string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "run/1 %d %d %s", seed, repeat, key))
	return binary.BigEndian.Uint64(sum[:8])
}

// passKey returns the key of one pass. The first pass has the key of the cell.
func passKey(key string, pass int) string {
	if pass <= 1 {
		return key
	}
	return fmt.Sprintf("%s pass %d", key, pass)
}

// shuffled returns the indices of keys in an order drawn from seed and repeat. Equal
// keys keep their order, and the order depends on the keys alone, so that two sides
// with the same keys get the same order.
func shuffled(keys []string, seeds []uint64, repeat int) []int {
	rank := make([][32]byte, len(keys))
	order := make([]int, len(keys))
	for i, key := range keys {
		rank[i] = sha256.Sum256(fmt.Appendf(nil, "order/1 %d %d %s", seeds[i], repeat, key))
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool {
		return string(rank[order[a]][:]) < string(rank[order[b]][:])
	})
	return order
}

// digest returns the SHA-256 of v as JSON, in hex. encoding/json sorts map keys and keeps struct order, so the
// text is canonical for the types used here.
func digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// Only channels, functions and NaN cannot be marshalled; the language allows none of them.
		panic(fmt.Sprintf("plan: cannot hash %T: %v", v, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxDifferences is the largest number of differences that are named.
const maxDifferences = 5

// beside lists the parts of a plan that may differ although its fingerprint does not.
var beside = []string{"fingerprint", "file", "estimate", "notes", "warnings", "looks_before", "attempt", "red", "range", "hash",
	"work_key", "seconds", "power", "repeats", "family_size", "start_s"}

// Differences describes how two plans differ, for people: "targets server.vllm.base argv: "--tp 2" then, "--tp
// 4" now".
func Differences(then, now *Plan) []string {
	var d differences
	d.compare("", generic(then), generic(now))
	if len(d.found) > maxDifferences {
		more := len(d.found) - maxDifferences
		return append(d.found[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return d.found
}

// generic returns a plan as it is decoded from JSON.
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

// lists compares elements by their names if they have some, else as a whole.
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

// byName indexes the elements of a list by their names in the file.
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
			name, ok = coordinates(values), true
		}
		if _, dup := out[name]; !ok || dup {
			return nil, false
		}
		out[name] = object
	}
	return out, true
}

// coordinates names the cell with these values as a report does: "side=base, rate=4".
func coordinates(values []any) string {
	if len(values) == 0 {
		return "without coordinates"
	}
	var parts []string
	for _, v := range values {
		value, _ := v.(map[string]any)
		parts = append(parts, fmt.Sprintf("%v=%v", value["name"], value["value"]))
	}
	return strings.Join(parts, ", ")
}

// shown formats a part of a plan for a sentence.
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
