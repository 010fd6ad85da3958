package reports

import (
	"cmp"
	"math"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// limitTexts are the value of a limit, what it is set against, and how much room is left.
// Each is none where there is nothing to print.
func limitTexts(d *result.Decision) (value, limit, headroom string) {
	value, limit, headroom = humanize.None, humanize.None, humanize.None
	if d.HeadValue != nil {
		value = scaleOf(d).Value(*d.HeadValue)
	}
	if d.Limit == nil {
		return value, limit, headroom
	}
	s := humanize.ScaleFor(d.Unit, *d.Limit)
	limit = operatorSign(d.LimitOp) + " " + s.With(humanize.Exact(*d.Limit*s.Factor))
	if d.HeadValue == nil {
		return value, limit, headroom
	}
	room := *d.Limit - *d.HeadValue
	if d.LimitOp == ">" || d.LimitOp == ">=" {
		room = -room
	}
	switch {
	case d.LimitOp == "==" || d.LimitOp == "!=":
		if room != 0 {
			headroom = s.Difference(*d.HeadValue - *d.Limit)
		}
	case *d.Limit == 0 && room < 0:
		headroom = s.Value(-room) + " beyond"
	case *d.Limit == 0:
		headroom = s.Value(room) + " left"
	case room < 0:
		headroom = humanize.Number(-100*room/math.Abs(*d.Limit)) + " % beyond"
	default:
		headroom = humanize.Number(100*room/math.Abs(*d.Limit)) + " % left"
	}
	return value, limit, headroom
}

// operatorSign is an operator as people write it.
func operatorSign(op result.Operator) string {
	return cmp.Or(map[result.Operator]string{"<=": "≤", ">=": "≥", "!=": "≠", "==": "="}[op], string(op))
}
