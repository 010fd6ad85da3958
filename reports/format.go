package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// none stands where there is no value.
const none = "—"

// scale turns stored values into those of one row: both sides of a comparison have the
// same unit.
type scale struct {
	factor float64
	unit   string
}

// scaleFor chooses the prefix for values of a stored unit by the largest of them.
func scaleFor(unit string, values ...float64) scale {
	largest := 0.0
	for _, v := range values {
		if finite(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	switch unit {
	case "s":
		switch {
		case largest == 0 || largest >= 1:
			return scale{1, "s"}
		case largest >= 0.9995e-3:
			return scale{1e3, "ms"}
		default:
			return scale{1e6, "µs"}
		}
	case "fraction":
		return scale{100, "%"}
	case "count":
		return scale{1, ""}
	case "B":
		return scaleForBytes(largest)
	}
	return scale{1, unit}
}

// scaleForBytes chooses the largest binary prefix that leaves something before the point.
func scaleForBytes(largest float64) scale {
	s := scale{1, "B"}
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if largest*s.factor < 1024 {
			break
		}
		s = scale{s.factor / 1024, unit}
	}
	return s
}

// value is v with its unit.
func (s scale) value(v float64) string { return s.with(number(v * s.factor)) }

// difference is a signed difference of two values; that of fractions is in percentage
// points.
func (s scale) difference(d float64) string {
	if s.unit == "%" {
		s.unit = "pp"
	}
	return s.with(signed(d*s.factor, number))
}

func (s scale) with(n string) string {
	if s.unit == "" || n == none {
		return n
	}
	return n + " " + s.unit
}

// number is v with three significant digits, four or more where it has more before the
// point, and commas from 10,000 on.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case !finite(v):
		return none
	case a >= 1e15 || a > 0 && a < 1e-4:
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	case a == 0:
		return "0"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(a))))
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if r, err := strconv.ParseFloat(s, 64); err == nil && decimals > 0 && math.Abs(r) >= math.Pow10(3-decimals) {
		s = strconv.FormatFloat(v, 'f', decimals-1, 64) // 9.996 rounds to 10.0, not 10.00
	}
	return minus(commas(s))
}

// exact is v as it was written, without more digits than it has: "0.05", "20".
func exact(v float64) string {
	if !finite(v) {
		return none
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if a := math.Abs(v); a == math.Trunc(a) && a < 1e15 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return minus(commas(s))
}

func commas(s string) string {
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

// signed is v with its sign, by a format of unsigned numbers.
func signed(v float64, format func(float64) string) string {
	s := format(math.Abs(v))
	switch {
	case s == none:
		return none
	case strings.Trim(s, "0.") == "": // rounds to zero
		return s
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// percent is a ratio − 1 as "+14.2 %".
func percent(r float64) string {
	s := percentNumber(r)
	if s == none {
		return none
	}
	return s + " %"
}

func percentNumber(r float64) string {
	return signed(r*100, func(v float64) string {
		switch {
		case !finite(v):
			return none
		case v >= 999.5:
			return number(v)
		case v >= 99.95:
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', 1, 64)
	})
}

// plainPercent is a fraction as "5 %".
func plainPercent(f float64) string {
	if !finite(f) {
		return none
	}
	return minus(strconv.FormatFloat(f*100, 'g', 4, 64)) + " %"
}

// probability is a p-value with two significant digits.
func probability(p *float64) string {
	switch {
	case p == nil || !finite(*p):
		return none
	case *p < 0.0001:
		return "<0.0001"
	case *p >= 0.9995:
		return "1"
	}
	return strconv.FormatFloat(*p, 'g', 2, 64)
}

// duration of a run for people.
func duration(d time.Duration) string {
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

// minus writes a leading minus sign as one.
func minus(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "−" + rest
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// count is "1 repeat", "2 repeats".
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%s %ses", commas(strconv.Itoa(n)), noun)
	}
	return fmt.Sprintf("%s %ss", commas(strconv.Itoa(n)), noun)
}
