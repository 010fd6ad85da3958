// Package humanize formats numbers, shares, durations and counts for people: three significant
// digits, one unit for both sides of a comparison, a typographic minus sign.
package humanize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// None is shown if there is no value.
const None = "—"

// Scale converts stored values to those of one row: both sides of a comparison have the same unit.
type Scale struct {
	Factor float64
	Unit   string
}

// ScaleFor chooses the prefix for values of a stored unit by the largest of them.
func ScaleFor(unit string, values ...float64) Scale {
	largest := 0.0
	for _, v := range values {
		if Finite(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	switch unit {
	case "s":
		switch {
		case largest == 0 || largest >= 1:
			return Scale{1, "s"}
		case largest >= 0.9995e-3:
			return Scale{1e3, "ms"}
		default:
			return Scale{1e6, "µs"}
		}
	case "nats":
		switch {
		case largest == 0 || largest >= 1:
			return Scale{1, "nats"}
		case largest >= 0.9995e-3:
			return Scale{1e3, "mnat"}
		default:
			return Scale{1e6, "µnat"}
		}
	case "fraction":
		return Scale{100, "%"}
	case "count":
		return Scale{1, ""}
	case "B":
		return scaleForBytes(largest)
	}
	return Scale{1, unit}
}

// scaleForBytes chooses the largest binary prefix that leaves at least 1 before the point.
func scaleForBytes(largest float64) Scale {
	s := Scale{1, "B"}
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if largest*s.Factor < 1024 {
			break
		}
		s = Scale{s.Factor / 1024, unit}
	}
	return s
}

// Value formats v with its unit.
func (s Scale) Value(v float64) string { return s.With(Number(v * s.Factor)) }

// Difference formats a signed difference of two values; fractions are in percentage points.
func (s Scale) Difference(d float64) string {
	if s.Unit == "%" {
		s.Unit = "pp"
	}
	return s.With(Signed(d*s.Factor, Number))
}

// With adds the unit to a formatted number.
func (s Scale) With(n string) string {
	if s.Unit == "" || n == None {
		return n
	}
	return n + " " + s.Unit
}

// Number formats v with three significant digits, or more if it has more before the point, and
// commas from 10,000 on.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case !Finite(v):
		return None
	case a >= 1e15 || a > 0 && a < 1e-4:
		return Minus(strconv.FormatFloat(v, 'g', 3, 64))
	case a == 0:
		return "0"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if r, err := strconv.ParseFloat(s, 64); err == nil && decimals > 0 && math.Abs(r) >= math.Pow10(3-decimals) {
		s = strconv.FormatFloat(v, 'f', decimals-1, 64) // 9.996 rounds to 10.0, not 10.00
	}
	return Minus(Commas(s))
}

// Exact formats v without more digits than it has: "0.05", "20".
func Exact(v float64) string {
	if !Finite(v) {
		return None
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if a := math.Abs(v); a == math.Trunc(a) && a < 1e15 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return Minus(Commas(s))
}

// Commas groups the digits of a whole number from 10,000 on.
func Commas(s string) string {
	digits := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(digits)]
	if strings.ContainsAny(digits, ".e") || len(digits) < 5 {
		return s
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), ",")
}

// Signed formats v with its sign, using a format of unsigned numbers.
func Signed(v float64, format func(float64) string) string {
	s := format(math.Abs(v))
	switch {
	case s == None:
		return None
	case strings.Trim(s, "0.") == "": // rounds to zero
		return s
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// Percent formats a ratio − 1 as "+14.2 %".
func Percent(r float64) string {
	s := PercentNumber(r)
	if s == None {
		return None
	}
	return s + " %"
}

// PercentNumber is Percent without the percent sign.
func PercentNumber(r float64) string {
	return Signed(r*100, func(v float64) string {
		switch {
		case !Finite(v):
			return None
		case v >= 999.5:
			return Number(v)
		case v >= 99.95:
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	})
}

// PlainPercent formats a fraction as "5 %".
func PlainPercent(f float64) string {
	if !Finite(f) {
		return None
	}
	return Minus(strconv.FormatFloat(f*100, 'g', 4, 64)) + " %"
}

// Spread formats a relative spread with two digits, or more before the point: "0.85 %", "5.3 %", "130 %".
func Spread(f float64) string {
	switch {
	case !Finite(f):
		return None
	case f < 0.995:
		return strconv.FormatFloat(f*100, 'g', 2, 64) + " %"
	}
	return Commas(strconv.FormatFloat(f*100, 'f', 0, 64)) + " %"
}

// Probability formats a p value with two significant digits.
func Probability(p *float64) string {
	switch {
	case p == nil || !Finite(*p):
		return None
	case *p < 0.0001:
		return "<0.0001"
	case *p >= 0.9995:
		return "1"
	}
	return strconv.FormatFloat(*p, 'g', 2, 64)
}

// Duration formats the duration of a run for people.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 90*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 90*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// Minus replaces a leading hyphen by a typographic minus sign.
func Minus(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "−" + rest
	}
	return s
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Count formats a number of things with their noun: "1 repeat", "2 repeats".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%s %ses", Commas(strconv.Itoa(n)), noun)
	}
	return fmt.Sprintf("%s %ss", Commas(strconv.Itoa(n)), noun)
}

// List joins words: "a, b and c".
func List(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}
