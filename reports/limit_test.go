package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

func TestLimitTexts(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		d                      result.Decision
		value, limit, headroom string
	}{
		{result.Decision{Unit: "s", HeadValue: at(0.45), Limit: at(0.5), LimitOp: "<"}, "450 ms", "< 500 ms", "10.0 % left"},
		{result.Decision{Unit: "s", HeadValue: at(0.62), Limit: at(0.5), LimitOp: "<="}, "620 ms", "≤ 500 ms", "24.0 % beyond"},
		{result.Decision{Unit: "tok/s", HeadValue: at(1100), Limit: at(1000), LimitOp: ">"}, "1100 tok/s", "> 1000 tok/s", "10.0 % left"},
		{result.Decision{Unit: "tok/s", HeadValue: at(900), Limit: at(1000), LimitOp: ">="}, "900 tok/s", "≥ 1000 tok/s", "10.0 % beyond"},
		{result.Decision{HeadValue: at(0), Limit: at(0), LimitOp: "=="}, "0", "= 0", humanize.None},
		{result.Decision{HeadValue: at(3), Limit: at(0), LimitOp: "=="}, "3", "= 0", "+3.00"},
		{result.Decision{HeadValue: at(3), Limit: at(0), LimitOp: "<="}, "3.00", "≤ 0", "3.00 beyond"},
		{result.Decision{Unit: "s", Limit: at(0.5), LimitOp: "<"}, humanize.None, "< 500 ms", humanize.None},
		{result.Decision{Unit: "fraction", HeadValue: at(0.98), Limit: at(0.99), LimitOp: ">"}, "98.0 %", "> 99 %", "1.00 pp beyond"},
		{result.Decision{Unit: "fraction", HeadValue: at(1), Limit: at(0.999), LimitOp: ">="}, "100 %", "≥ 99.9 %", "0.100 pp left"},
		{result.Decision{Unit: "req/s", HeadValue: at(400), HeadBound: result.AtLeast, Limit: at(500), LimitOp: ">="}, "≥ 400 req/s",
			"≥ 500 req/s", humanize.None},
		{result.Decision{}, humanize.None, humanize.None, humanize.None},
	} {
		tt.d.Kind = result.KindAssert
		_, cells := verdictTable(t, tt.d)
		value, limit, headroom := cells[headColumn], cells[marginColumn], cells[changeColumn]
		if strings.TrimSuffix(value, ".00") != strings.TrimSuffix(tt.value, ".00") || limit != tt.limit || headroom != tt.headroom {
			t.Errorf("%+v: %q %q %q, want %q %q %q", tt.d, value, limit, headroom, tt.value, tt.limit, tt.headroom)
		}
	}
}
