package engine

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxSamples limits the lines of an exposition that are kept. The relevant metrics have a few lines
// each, one for each engine core and label value.
const maxSamples = 4000

// Sample is one line of the Prometheus text format.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// samples returns the lines of the wanted names, by name. It skips lines that are not samples, and
// values that are not finite numbers.
//
// It is a separate reader for three reasons: a broken line loses only that line, only wanted lines
// are parsed, and reading is too fast to affect the load generator.
func samples(exposition []byte, wanted map[string]bool) (map[string][]Sample, error) {
	out, kept := map[string][]Sample{}, 0
	for line := range bytes.Lines(exposition) {
		end := bytes.IndexAny(line, "{ \t")
		if end < 0 || line[0] == '#' || !wanted[string(line[:end])] {
			continue
		}
		s, ok := ParseSample(strings.TrimSpace(string(line)))
		if !ok {
			continue
		}
		if kept++; kept > maxSamples {
			return nil, fmt.Errorf("more than %d lines of the engine's metrics", maxSamples)
		}
		out[s.Name] = append(out[s.Name], s)
	}
	return out, nil
}

// ParseSample parses a line: name{label="value",…} number [time]. It reports false if the line has
// another form or its number is not finite.
func ParseSample(line string) (Sample, bool) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return Sample{}, false
	}
	s := Sample{Name: line[:end]}
	rest := strings.TrimLeft(line[end:], " \t")
	if strings.HasPrefix(rest, "{") {
		var ok bool
		if s.Labels, rest, ok = parseLabels(rest[1:]); !ok {
			return s, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 {
		return s, false
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	s.Value = v
	return s, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// parseLabels reads up to and including the closing brace and returns the rest.
func parseLabels(text string) (labels map[string]string, rest string, ok bool) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, " \t,")
		if rest, ok = strings.CutPrefix(text, "}"); ok {
			return labels, rest, true
		}
		name, after, found := strings.Cut(text, "=")
		if !found {
			return nil, "", false
		}
		quoted, err := strconv.QuotedPrefix(strings.TrimLeft(after, " \t"))
		if err != nil || quoted[0] != '"' {
			return nil, "", false
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, "", false
		}
		labels[strings.TrimSpace(name)] = value
		text = strings.TrimLeft(after, " \t")[len(quoted):]
	}
}

// firstRank reports whether the sample comes from the first worker of an engine. SGLang can be
// configured to let each worker report the same batch.
func (s Sample) firstRank() bool {
	for _, name := range []string{"tp_rank", "pp_rank"} {
		if rank := s.Labels[name]; rank != "" && rank != "0" {
			return false
		}
	}
	return true
}
