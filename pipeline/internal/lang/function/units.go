package function

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// number is the form of a quantity: no sign, no exponent.
const number = `[0-9]+(?:\.[0-9]+)?`

var (
	quantity = lazyregexp.New(`^(` + number + `) ?([a-zA-Zµμ%]*)$`)
	segment  = lazyregexp.New(`^(` + number + `)(ns|us|µs|μs|ms|s|m|h|d)`)
)

// Duration parses a duration in Go's form, with "d" for 24 hours: "800ms", "1h30m", "2d". A single
// number and its unit may be separated by one space. Zero needs no unit.
func Duration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	rest := s
	if m := quantity.FindStringSubmatch(s); m != nil {
		rest = m[1] + m[2] // without the space
	}
	var total time.Duration
	for rest != "" {
		m := segment.FindStringSubmatch(rest)
		if m == nil {
			return 0, durationError(s)
		}
		part, err := durationPart(m[1], m[2])
		if err != nil || part > math.MaxInt64-total {
			return 0, fmt.Errorf("%q is too long: the longest duration is about 292 years", s)
		}
		total += part
		rest = rest[len(m[0]):]
	}
	if s == "" {
		return 0, durationError(s)
	}
	return total, nil
}

func durationPart(num, unit string) (time.Duration, error) {
	if unit != "d" {
		return time.ParseDuration(num + unit)
	}
	hours, err := time.ParseDuration(num + "h")
	if err != nil || hours > math.MaxInt64/24 {
		return 0, errors.New("too long")
	}
	return hours * 24, nil
}

// durationUnits maps common misspellings to the correct units.
var durationUnits = map[string]string{
	"msec": "ms", "msecs": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
	"day": "d", "days": "d",
}

func durationError(s string) error {
	if strings.HasPrefix(s, "-") {
		return fmt.Errorf("%q is negative: a duration counts from zero", s)
	}
	m := quantity.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf(`%q is not a duration: write a number and a unit, such as "800ms", "90s", "1h30m" or "2d"`, s)
	}
	if m[2] == "" {
		return fmt.Errorf(`%q has no unit: write "%ss" or "%sms"`, s, m[1], m[1])
	}
	unit := durationUnits[strings.ToLower(m[2])]
	if unit == "" {
		unit = strings.ToLower(m[2])
	}
	if !segment.MatchString(m[1] + unit) {
		return fmt.Errorf("%q has the unknown unit %q: the units are ns, us, ms, s, m, h and d", s, m[2])
	}
	return fmt.Errorf(`%q has the unknown unit %q: write "%s%s"`, s, m[2], m[1], unit)
}

// byteUnits by name: powers of 1,000 as in ISO 80000-1, of 1,024 as in IEC 80000-13.
var byteUnits = map[string]int64{
	"B":  1,
	"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// Bytes parses a size: "512B", "64kB" (1,000), "5GiB" (1,024³). One space may separate the number
// and the unit. A fraction must result in whole bytes.
func Bytes(s string) (int64, error) {
	m := quantity.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf(`%q is not a size: write a number and a unit, such as "512MiB" or "5GiB"`, s)
	}
	unit, ok := byteUnits[m[2]]
	if !ok {
		return 0, bytesError(s, m[1], m[2])
	}
	size, _ := new(big.Rat).SetString(m[1])
	size.Mul(size, new(big.Rat).SetInt64(unit))
	switch {
	case !size.IsInt():
		return 0, fmt.Errorf("%q is not a whole number of bytes", s)
	case !size.Num().IsInt64():
		return 0, fmt.Errorf("%q is too large: the largest size is about 8 million TiB", s)
	}
	return size.Num().Int64(), nil
}

func bytesError(s, num, unit string) error {
	if unit == "" {
		return fmt.Errorf(`%q has no unit: write "%sB", or a unit such as MiB or GiB`, s, num)
	}
	letter := strings.ToUpper(unit[:1])
	if !slices.Contains([]string{"K", "M", "G", "T"}, letter) {
		return fmt.Errorf("%q has the unknown unit %q: the units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB", s, unit)
	}
	thousand := letter + "B"
	if letter == "K" {
		thousand = "kB"
	}
	switch strings.ToLower(unit) {
	case "kb", "mb", "gb", "tb":
		return fmt.Errorf(`%q has the unknown unit %q: write "%s%s"`, s, unit, num, thousand)
	case "kib", "mib", "gib", "tib":
		return fmt.Errorf(`%q has the unknown unit %q: write "%s%siB"`, s, unit, num, letter)
	}
	return fmt.Errorf(`%q has the unknown unit %q: write "%s%siB" (powers of 1,024) or "%s%s" (powers of 1,000)`,
		s, unit, num, letter, num, thousand)
}

// Percent parses a share: "5%" is 0.05. One space may precede the sign.
func Percent(s string) (float64, error) {
	num, err := percentNumber(s)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(num+"e-2", 64) // the nearest number, which num/100 is not
	if err != nil {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return f, nil
}

// percentNumber returns the number before the sign.
func percentNumber(s string) (string, error) {
	m := quantity.FindStringSubmatch(s)
	switch {
	case m == nil && quantity.MatchString(strings.TrimPrefix(s, "-")):
		return "", fmt.Errorf(`%q is not a percentage: it is below zero; write a size without a minus, such as "5%%"`, s)
	case m == nil:
		return "", fmt.Errorf(`%q is not a percentage: write a number and a percent sign, such as "5%%"`, s)
	case m[2] == "%":
		return m[1], nil
	case m[2] == "":
		share, _ := new(big.Float).SetString(m[1])
		if share.Cmp(big.NewFloat(1)) < 0 {
			hundred := new(big.Float).Mul(share, big.NewFloat(100))
			return "", fmt.Errorf(`%q has no percent sign: write "%s%%"`, s, hundred.Text('g', 6))
		}
		return "", fmt.Errorf(`%q has no percent sign: write "%s%%"`, s, m[1])
	}
	return "", fmt.Errorf(`%q has the unit %q, but a percentage is wanted: write "%s%%"`, s, m[2], m[1])
}

// Parse the values from decimals, like literals, so that duration("800ms") == 0.8.
var (
	durationFunc = fromString("duration", func(s string) (cty.Value, error) {
		d, err := Duration(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ParseNumberVal(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
	})
	bytesFunc = fromString("size", func(s string) (cty.Value, error) {
		n, err := Bytes(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.NumberIntVal(n), nil
	})
	percentFunc = fromString("percentage", func(s string) (cty.Value, error) {
		num, err := percentNumber(s)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ParseNumberVal(num + "e-2")
	})
)

// fromString returns a function of one string to a number.
func fromString(name string, parse func(string) (cty.Value, error)) function.Function {
	return pure(cty.Number, func(args []cty.Value) (cty.Value, error) {
		v, err := parse(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return v, nil
	}, param(name, cty.String))
}
