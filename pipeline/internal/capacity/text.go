package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// Text formats a load: "12.4 req/s", "16 users".
func Text(kind result.LoadKind, load float64) string {
	switch {
	case kind == result.LoadConcurrency && load == 1:
		return "1 user"
	case kind == result.LoadConcurrency:
		return fmt.Sprintf("%.4g users", load)
	}
	return fmt.Sprintf("%.4g req/s", load)
}

// Missed lists the missed objectives of a probe: "TTFT p99 512 ms, limit 300 ms".
func Missed(p result.Probe) string {
	var parts []string
	for _, o := range p.Objectives {
		if !o.Held {
			parts = append(parts, objectiveText(p, o))
		}
	}
	return strings.Join(parts, "; ")
}

// objectiveText formats an objective with its value and limit.
func objectiveText(p result.Probe, o result.Objective) string {
	m, _ := metric.Lookup(o.Metric)
	value := "without a value"
	switch {
	case o.Value != nil:
		value = valueText(m, *o.Value)
	case gathered(p, o):
		value = fmt.Sprintf("unknown, since the tokens of %.0f of %d requests came in one piece", p.Audit[result.OnePiece], p.Sent)
	}
	return fmt.Sprintf("%s %s, limit %s", m.Label, value, valueText(m, o.Limit))
}

// gathered reports whether an objective has no value because tokens arrived together, with no time in between.
func gathered(p result.Probe, o result.Objective) bool {
	m, _ := metric.Lookup(o.Metric)
	n, _ := p.Audit[result.OnePiece].(float64)
	return o.Value == nil && m.BetweenTokens() && n > 0
}

// remedy returns advice for a probe that missed an objective at the lowest load.
func remedy(p result.Probe) string {
	if slices.ContainsFunc(p.Objectives, func(o result.Objective) bool { return gathered(p, o) }) {
		return "See what gathers them: the server under load, its streaming interval, or a proxy"
	}
	return "Lower min, or allow more"
}

// LimitText formats a limit: "TTFT p95 ≤ 500 ms", "Success rate ≥ 99 %".
func LimitText(id string, limit float64) string {
	m, _ := metric.Lookup(id)
	sign := "≤"
	if m.Direction == metric.HigherIsBetter {
		sign = "≥"
	}
	return fmt.Sprintf("%s %s %s", m.Label, sign, valueText(m, limit))
}

// valueText formats a time or a share, with the digits that a limit may have.
func valueText(m metric.Metric, v float64) string {
	switch {
	case m.Unit == metric.Seconds && v >= 10:
		return fmt.Sprintf("%.4g s", v)
	case m.Unit == metric.Seconds:
		return fmt.Sprintf("%.4g ms", 1000*v)
	}
	return fmt.Sprintf("%.4g %%", 100*v)
}

// ProbeText formats a probe in one line.
func ProbeText(p result.Probe) string {
	text := Text(p.Kind, p.Load) + ": "
	switch {
	case p.Void != "":
		return text + "void: " + p.Void
	case p.Held:
		text += "held"
	default:
		text += "not held"
	}
	if worst := Worst(p); worst != nil {
		text += " (" + objectiveText(p, *worst) + ")"
	}
	return text + ", " + p.Reason
}

// Worst returns the objective with the least headroom.
func Worst(p result.Probe) *result.Objective {
	var worst *result.Objective
	for i := range p.Objectives {
		if o := &p.Objectives[i]; worst == nil || o.Headroom < worst.Headroom {
			worst = o
		}
	}
	return worst
}

// FoundText formats the result of a search in one line: "12.4 req/s (12.1 to 12.7)", "at least 64 req/s", "12.4 req/s
// (12.1 to 12.7), but missed at 6 req/s".
func FoundText(s *result.Search) string {
	if s.Capacity == nil {
		return "not found"
	}
	var missed []string
	for _, p := range s.Contrary() {
		missed = append(missed, Text(p.Kind, p.Load))
	}
	if len(missed) > 0 {
		return capacityText(s) + ", but missed at " + strings.Join(missed, " and ")
	}
	return capacityText(s)
}

// capacityText formats a capacity with its bound or interval.
func capacityText(s *result.Search) string {
	text := Text(s.Over, *s.Capacity)
	switch {
	case s.Bound == result.AtLeast:
		return "at least " + text
	case s.Bound == result.AtMost:
		return "at most " + text
	case s.Lower != nil && s.Upper != nil:
		text += fmt.Sprintf(" (%.4g to %.4g)", *s.Lower, *s.Upper)
	}
	return text
}
