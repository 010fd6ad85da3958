package reports

import (
	"math"

	"github.com/servegate/pipeline/reports/result"
)

// limitTexts are the value of a limit, what it is set against, and how much room is left.
// Each is none where there is nothing to print.
func limitTexts(d *result.Decision) (value, limit, headroom string) {
	value, limit, headroom = none, none, none
	if d.HeadValue != nil {
		value = scaleOf(d).value(*d.HeadValue)
	}
	if d.Limit == nil {
		return value, limit, headroom
	}
	s := scaleFor(d.Unit, *d.Limit)
	limit = operatorSign(d.LimitOp) + " " + s.with(exact(*d.Limit*s.factor))
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
			headroom = s.difference(*d.HeadValue - *d.Limit)
		}
	case *d.Limit == 0 && room < 0:
		headroom = s.value(-room) + " beyond"
	case *d.Limit == 0:
		headroom = s.value(room) + " left"
	case room < 0:
		headroom = number(-100*room/math.Abs(*d.Limit)) + " % beyond"
	default:
		headroom = number(100*room/math.Abs(*d.Limit)) + " % left"
	}
	return value, limit, headroom
}

// operatorSign is an operator as people write it.
func operatorSign(op result.Operator) string {
	switch op {
	case "<=":
		return "≤"
	case ">=":
		return "≥"
	case "!=":
		return "≠"
	case "==":
		return "="
	}
	return string(op)
}
