package engine

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxSamples bounds the lines of an exposition that are kept. The metrics that count have
// a handful of lines each, one for each engine core and label value.
const maxSamples = 4000

// Sample is one line of the Prometheus text format.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// samples reads the lines of the wanted names, by name. Lines that are no samples, and
// values that are no finite numbers, are left out.
//
// It is a reader of its own for three reasons: a broken line costs that line and not all
// that follow, only wanted lines are parsed, and each read is over before the load
// generator would notice.
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

// ParseSample reads a line: name{label="value",…} number [time]. It reports whether it is one
// with a finite number.
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

// parseLabels reads up to and with the closing brace and returns what follows it.
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

// firstRank leaves out the workers of one engine beside its first: SGLang can be configured to
// let each of them report what is the same batch.
func (s Sample) firstRank() bool {
	for _, name := range []string{"tp_rank", "pp_rank"} {
		if rank := s.Labels[name]; rank != "" && rank != "0" {
			return false
		}
	}
	return true
}
