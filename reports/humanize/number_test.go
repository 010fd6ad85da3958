package humanize_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/servegate/pipeline/reports/humanize"
)

func TestNumber(t *testing.T) {
	tests := map[float64]string{
		0: "0", 0.411712: "0.412", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 411.7: "412", 1234.4: "1234",
		12345.6: "12,346", 1234567: "1,234,567", -3.14159: "−3.14", -12345: "−12,345", 0.00099: "0.000990", 1e-9: "1e-09",
		1e300: "1e+300", math.NaN(): humanize.None, math.Inf(-1): humanize.None,
	}
	for in, want := range tests {
		if got := humanize.Number(in); got != want {
			t.Errorf("number(%g) = %s, want %s", in, got, want)
		}
	}
}

// TestExact: what labels ticks has no comma within an exponent.
func TestExact(t *testing.T) {
	for in, want := range map[float64]string{0: "0", 1e-12: "1e-12", -2.5e-7: "−2.5e-07", 1e15: "1e+15", 12345: "12,345", 0.05: "0.05"} {
		if got := humanize.Exact(in); got != want {
			t.Errorf("exact(%g) = %s, want %s", in, got, want)
		}
	}
}

func TestNumberKeepsThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-4, 1e12).Draw(t, "v")
		text := strings.ReplaceAll(humanize.Number(v), ",", "")
		got, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("number(%g) = %q: %v", v, text, err)
		}
		if math.Abs(got-v) > 0.0051*v {
			t.Fatalf("number(%g) = %q is off by more than half of the third digit", v, text)
		}
	})
}

func TestOneScaleForBothSides(t *testing.T) {
	tests := []struct {
		unit       string
		base, head float64
		want       string
	}{
		{"s", 0.412, 0.470, "412 ms, 470 ms"},
		{"s", 0.980, 1.02, "0.980 s, 1.02 s"},
		{"s", 0.0000123, 0.000099, "12.3 µs, 99.0 µs"},
		{"s", 0.0004, 0.0012, "0.400 ms, 1.20 ms"},
		{"s", 0, 0, "0 s, 0 s"},
		{"tok/s", 5210, 48970, "5210 tok/s, 48,970 tok/s"},
		{"fraction", 1, 0.9715, "100 %, 97.2 %"},
		{"count", 12, 120, "12.0, 120"},
		{"s", math.NaN(), 0.5, humanize.None + ", 500 ms"},
	}
	for _, tt := range tests {
		s := humanize.ScaleFor(tt.unit, tt.base, tt.head)
		if got := s.Value(tt.base) + ", " + s.Value(tt.head); got != tt.want {
			t.Errorf("%g and %g %s: %s, want %s", tt.base, tt.head, tt.unit, got, tt.want)
		}
	}
}

func TestPercent(t *testing.T) {
	tests := map[float64]string{
		0.1423: "+14.2 %", -0.06: "−6.0 %", 0: "0.0 %", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.9994: "+99.9 %", 0.9996: "+100 %",
		9.5: "+950 %", 123.4: "+12,340 %", math.Inf(1): humanize.None,
	}
	for in, want := range tests {
		if got := humanize.Percent(in); got != want {
			t.Errorf("percent(%g) = %s, want %s", in, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0 %", 0.00854: "0.85 %", 0.0531: "5.3 %", 0.204: "20 %", 0.994: "99 %", 0.996: "100 %", 1.02: "102 %", 12.344: "1234 %",
		200: "20,000 %", math.NaN(): humanize.None,
	} {
		if got := humanize.Spread(in); got != want {
			t.Errorf("spread(%g) = %s, want %s", in, got, want)
		}
	}
}

func TestProbability(t *testing.T) {
	if got := humanize.Probability(nil); got != humanize.None {
		t.Errorf("no p: %s", got)
	}
	for in, want := range map[float64]string{0: "<0.0001", 0.00009: "<0.0001", 0.0004: "0.0004", 0.0423: "0.042", 0.31: "0.31", 1: "1"} {
		if got := humanize.Probability(&in); got != want {
			t.Errorf("probability(%g) = %s, want %s", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-time.Second: "", 0: "", 250 * time.Millisecond: "250 ms", 42 * time.Second: "42 s", 38*time.Minute + 12*time.Second: "38 min",
		95 * time.Minute: "1 h 35 min", 26*time.Hour + 59*time.Minute + 40*time.Second: "27 h 00 min",
	} {
		if got := humanize.Duration(in); got != want {
			t.Errorf("duration(%s) = %q, want %q", in, got, want)
		}
	}
}
