package reports

import (
	"math"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// limitTexts formats the value of a limited metric, the limit, and the headroom. Each is humanize.None if absent.
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

// headroomText formats how far a value is from its limit.
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
	case s.Unit == "%": // relative to a limit of 99 %, the 1 % that may fail would look like very little
		return humanize.Number(room*s.Factor) + " pp" + side
	case limit == 0:
		return s.Value(room) + side
	}
	return humanize.Number(100*room/math.Abs(limit)) + " %" + side
}
