package ui

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock formats a time span like a clock: "0:42", "12:03", "1:02:03".
func clock(seconds float64) string {
	if !(seconds > 0) { // also NaN
		seconds = 0
	}
	d := time.Duration(min(seconds, math.MaxInt32) * float64(time.Second)).Truncate(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// about formats an estimate. A long one omits the seconds, which it does not know.
func about(seconds float64) string {
	switch {
	case !(seconds >= 1):
		return "less than 1 s"
	case seconds < 60:
		return fmt.Sprintf("about %.0f s", seconds)
	case seconds < 3570: // would round to 60 min
		return fmt.Sprintf("about %.0f min", seconds/60)
	}
	minutes := int(math.Round(min(seconds, math.MaxInt32) / 60))
	return fmt.Sprintf("about %d h %02d min", minutes/60, minutes%60)
}

// latency formats seconds with three digits: "45.1 ms", "1.23 s".
func latency(seconds float64) string {
	switch {
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return "–"
	case math.Abs(seconds) < 0.9995:
		return digits(seconds*1e3) + " ms"
	}
	return digits(seconds) + " s"
}

// digits formats three significant digits without an exponent.
func digits(x float64) string {
	decimals := 2
	switch abs := math.Abs(x); {
	case abs >= 99.95:
		decimals = 0
	case abs >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// span formats a measured duration: "41.2 s", "2:05".
func span(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.1f s", max(0, seconds))
	}
	return clock(seconds)
}

// tally formats a count for each class, the most frequent first: "timeout 2, http_500 1".
func tally(classes map[string]int) string {
	names := slices.SortedFunc(maps.Keys(classes), func(a, b string) int {
		return cmp.Or(classes[b]-classes[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, classes[name])
	}
	return strings.Join(names, ", ")
}

// bar draws done of total in width columns.
func bar(done, total, width int) string {
	filled := 0
	if total > 0 {
		filled = max(0, min(width, int(float64(done)/float64(total)*float64(width))))
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", width-filled)
}

func percent(done, total int) string {
	if total <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%d %%", int(100*float64(done)/float64(total)))
}

// ANSI colours (ECMA-48 select graphic rendition).
const (
	sgrReset  = "\x1b[0m"
	sgrFaint  = "\x1b[2m"
	sgrRed    = "\x1b[31m"
	sgrGreen  = "\x1b[32m"
	sgrYellow = "\x1b[33m"
)

// colors of lines by tone.
var colors = map[tone]string{bad: sgrRed, caution: sgrYellow, logged: sgrFaint}

// paint colours a line by its tone.
func paint(color bool, t tone, s string) string {
	if sgr := colors[t]; color && sgr != "" && s != "" {
		return sgr + s + sgrReset
	}
	return s
}

// marks are the signs before a line on a terminal.
var marks = map[tone]string{neutral: "·", good: "✓", caution: "!", bad: "✗", detail: " ", logged: "|"}

func mark(color bool, t tone) string {
	if t == good && color {
		return sgrGreen + marks[t] + sgrReset
	}
	return paint(color, t, marks[t])
}
