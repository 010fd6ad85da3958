package convert

import (
	"fmt"
	"maps"
	"strings"
)

// surroundings are the parameters around the results of a text, by reach: headings hold for a
// chapter, settings until the next heading, a server command until the next one. The command of a
// load generator, and its output before the block, hold for one block.
type surroundings struct {
	headings [6]string
	settings map[string]setting
	mine     map[string]string
	server   map[string]string
}

// setting is the value of a line such as "num_prompts: 1, 2, 4", and the number of results since.
type setting struct {
	value string
	seen  int
}

// own adds parameters of the next block.
func (s *surroundings) own(args map[string]string) {
	if s.mine == nil {
		s.mine = map[string]string{}
	}
	maps.Copy(s.mine, args)
}

// heading starts a chapter of a level from 1.
func (s *surroundings) heading(level int, text string) {
	s.headings[level-1] = strings.TrimSpace(text)
	clear(s.headings[level:])
	s.settings = nil
}

// progress are the lines in which a load generator repeats its settings.
var progress = map[string]string{
	"traffic request rate": "request_rate", "burstiness factor": "burstiness",
	"maximum request concurrency": "max_concurrency", "max request concurrency": "max_concurrency",
}

// isProgress reports whether the name of a setting is one of them.
func isProgress(key string) bool { return progress[strings.ToLower(key)] != "" }

// setting keeps a setting of a line.
func (s *surroundings) setting(key, value string) {
	if name, ok := progress[strings.ToLower(key)]; ok {
		value, _, _ = strings.Cut(value, "(") // 1.0 (Poisson process)
		s.own(map[string]string{name: value})
		return
	}
	if strings.Contains(key, " ") || len(s.settings) >= maxParams {
		return
	}
	put(&s.settings, canonicalKey(key), setting{value: value})
}

// apply sets the parameters of a run. Nearer ones override others.
func (s *surroundings) apply(r *Run, succeeded int) {
	for level, text := range s.headings {
		if text == "" {
			continue
		}
		for key, value := range assignments(text) {
			r.setParam(key, value)
			r.label(key)
		}
		r.setParam(fmt.Sprintf("h%d", level+1), text)
		r.setParam("heading", text)
	}
	r.loose = map[string]bool{}
	for key, v := range s.settings {
		r.setParam(key, v.pick(key, succeeded))
		r.loose[key] = true
		r.label(key)
	}
	r.served = len(s.server) > 0
	for key, value := range s.server {
		r.setParam(key, value)
	}
	for key, value := range s.mine {
		r.setParam(key, value)
		delete(r.loose, key)
		delete(r.labels, canonicalKey(key))
	}
}

// pick returns the element of a list for the next result: the first for the first. If a number of
// prompts is below the number of successes, the list does not work that way.
func (v setting) pick(key string, succeeded int) string {
	items := strings.Split(v.value, ",")
	if len(items) < 2 || v.seen >= len(items) {
		return v.value // checkLabels rejects the label of a list that has ended
	}
	item := strings.TrimSpace(items[v.seen])
	n, err := parseCount(item)
	if err != nil || key == "num_prompts" && n < int64(succeeded) {
		return v.value
	}
	return item
}

// next removes the parameters of the last result, and moves lists to their next element.
func (s *surroundings) next() {
	s.mine = nil
	for key, v := range s.settings {
		v.seen++
		s.settings[key] = v
	}
}
