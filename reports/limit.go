package reports

import (
	"math"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// limitTexts are the value of a limit, what it is set against, and how much room is left.
// Each is none where there is nothing to print.
func limitTexts(d *result.Decision) (value, limit, headroom string) {
	_, value = valueTexts(d)
	limit, headroom = humanize.None, humanize.None
	if d.Limit == nil {
		return value, limit, headroom
	}
	s := humanize.ScaleFor(d.Unit, *d.Limit)
	limit = d.LimitOp.Sign() + " " + s.With(humanize.Exact(*d.Limit*s.Factor))
	if d.HeadValue != nil && d.HeadBound == "" {
		headroom = headroomText(s, *d.HeadValue, *d.Limit, d.LimitOp)
	}
	return value, limit, headroom
}

// headroomText is how far a value is from its limit.
func headroomText(s humanize.Scale, value, limit float64, op result.Operator) string {
	room := limit - value
	if op == ">" || op == ">=" {
		room = -room
	}
	if op == "==" || op == "!=" {
		if room == 0 {
			return humanize.None
		}
		return s.Difference(value - limit)
	}
	side := " left"
	if room < 0 {
		room, side = -room, " beyond"
	}
	switch {
	case s.Unit == "%": // 1 % of 99 % would be next to nothing, and is all that may fail
		return humanize.Number(room*s.Factor) + " pp" + side
	case limit == 0:
		return s.Value(room) + side
	}
	return humanize.Number(100*room/math.Abs(limit)) + " %" + side
}
