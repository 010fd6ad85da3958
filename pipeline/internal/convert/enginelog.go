package convert

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/result"
)

// EngineSample is one line of an engine's log about its load: a point of a time series.
type EngineSample struct {
	Line int
	// Time is zero if the engine did not print it. Logs without a year have year 2000, so only
	// differences are valid.
	Time time.Time
	// Engine, if several write one log: "000", "DP1 TP0".
	Engine string
	// Values by the names of series (steps.SeriesRunning and so on).
	Values map[string]float64
}

// engineLog reads the statistics of engines whose logs stand between results. A log of days has
// more lines than a chart has points. So it keeps only every n-th line of each engine, and the
// largest value of each figure.
type engineLog struct {
	readers []func(line string) (map[string]float64, bool)
	courses map[string]*engineCourse
	peaks   map[string]float64
	every   int // it keeps one of this many lines of an engine
	kept    int // of all engines
	others  int // lines of engines beyond maxEngines
}

// engineCourse counts the lines of one engine, and keeps an even selection.
type engineCourse struct {
	lines int
	even  []EngineSample
}

// maxSamples bounds the lines of one result, and maxEngines their engines. It is a quarter, so that
// dropping every other line makes room.
const (
	maxSamples = 4096
	maxEngines = maxSamples / 4
)

func newEngineLog(tools Tools) *engineLog {
	e := &engineLog{}
	for _, t := range tools {
		if engine := engines[t.Name]; engine != nil {
			if o := engine().Capabilities().Observer; o != nil {
				e.readers = append(e.readers, o.LogPoint)
			}
		}
	}
	e.forget()
	return e
}

// take reads a line, and reports whether it is one of statistics.
func (e *engineLog) take(line string, number int) bool {
	s, ok := e.parse(line)
	if !ok {
		return false
	}
	s.Line = number
	c := e.courses[s.Engine]
	if c == nil {
		if len(e.courses) == maxEngines {
			e.others++
			return true
		}
		c = &engineCourse{}
		e.courses[strings.Clone(s.Engine)] = c
	}
	for name, v := range s.Values {
		if old, ok := e.peaks[name]; !ok || v > old {
			e.peaks[name] = v
		}
	}
	if c.lines++; (c.lines-1)%e.every == 0 {
		s.Time, s.Engine = logTime(line), strings.Clone(s.Engine) // a part of a line keeps it in memory
		c.even = append(c.even, s)
		e.kept++
	}
	if e.kept == maxSamples {
		e.thin()
	}
	return true
}

// thin keeps every other line of each engine, now and from now on.
func (e *engineLog) thin() {
	e.every *= 2
	e.kept = 0
	for _, c := range e.courses {
		half := c.even[:0]
		for i := 0; i < len(c.even); i += 2 {
			half = append(half, c.even[i])
		}
		clear(c.even[len(half):])
		c.even = half
		e.kept += len(half)
	}
}

// samples returns the kept lines, in the order of the log.
func (e *engineLog) samples() []EngineSample {
	var all []EngineSample
	for _, name := range slices.Sorted(maps.Keys(e.courses)) {
		all = append(all, e.courses[name].even...)
	}
	slices.SortStableFunc(all, func(a, b EngineSample) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// forget clears everything for the next result.
func (e *engineLog) forget() {
	e.courses, e.peaks = map[string]*engineCourse{}, map[string]float64{}
	e.every, e.kept, e.others = 1, 0, 0
}

var engineTime = lazyregexp.New(`(?:\b(\d{4})-)?\b(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`)

// parse reads one line, but for its time. Text before the engine's own words, such as the name of a
// pod or a time, does not matter.
func (e *engineLog) parse(line string) (EngineSample, bool) {
	for _, read := range e.readers {
		values, ok := read(line)
		if !ok {
			continue
		}
		maps.DeleteFunc(values, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		return EngineSample{Engine: engineName(line), Values: values}, len(values) > 0
	}
	return EngineSample{}, false
}

// engineName returns what a line calls its engine: the number of "Engine 000:", or "DP1 TP0" of
// "DP1 TP0]", "" without either. A regular expression would be too slow, since every line of a log is read here.
func engineName(line string) string {
	const numbered, parallel = "Engine ", "TP"
	name, first := "", len(line)
	if at, digits := wordNumber(line, numbered, ':', 6); at >= 0 {
		name, first = digits, at
	}
	at, digits := wordNumber(line, parallel, ']', 4)
	if at < 0 {
		return name
	}
	end := at + len(parallel) + len(digits)
	for n := 1; n <= 4; n++ { // "DP1 " and its number of up to 4 digits
		if from := at - len("DP ") - n; from >= 0 && boundary(line, from) && line[from:from+2] == "DP" && line[at-1] == ' ' &&
			isDigits(line[from+2:at-1]) {
			at = from
			break
		}
	}
	if at < first {
		name = line[at:end]
	}
	return name
}

// wordNumber finds a word, then up to most digits, then a byte. It returns where the word begins, -1 if
// nowhere, and the digits.
func wordNumber(line, word string, end byte, most int) (at int, digits string) {
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return -1, ""
		}
		at, from = from+i, from+i+1
		rest := line[at+len(word):]
		n := 0
		for n < len(rest) && n < most && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n > 0 && n < len(rest) && rest[n] == end && boundary(line, at) {
			return at, rest[:n]
		}
	}
}

// boundary reports whether a word can begin at a place.
func boundary(line string, at int) bool {
	if at == 0 {
		return true
	}
	c := line[at-1]
	return c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// logTime returns the first time in a line, zero if there is none.
func logTime(line string) time.Time {
	const head = 500 // times stand at the beginning
	m := engineTime.FindStringSubmatch(line[:min(len(line), head)])
	if m == nil {
		return time.Time{}
	}
	n := make([]int, len(m))
	for i := 1; i < len(m); i++ {
		n[i], _ = strconv.Atoi(m[i]) // digits or ""
	}
	if n[1] == 0 {
		n[1] = 2000 // a leap year
	}
	nanoseconds, _ := strconv.Atoi((m[7] + "000000000")[:9])
	t := time.Date(n[1], time.Month(n[2]), n[3], n[4], n[5], n[6], nanoseconds, time.UTC)
	if int(t.Month()) != n[2] || t.Day() != n[3] || n[4] > 23 || n[5] > 59 || n[6] > 59 {
		return time.Time{}
	}
	return t
}

// engineSeries makes a series of each figure, and of each engine if several wrote the log. The
// seconds count from the first line, because an imported log does not say when the first request
// was planned.
func engineSeries(samples []EngineSample, most int) []result.Series {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s EngineSample) bool { return s.Time.IsZero() })
	if len(samples) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, s := range samples {
		names[s.Engine] = true
	}
	type key struct{ member, name string }
	series := map[key]*result.Series{}
	times := elapsed(samples)
	for i, s := range samples {
		k := key{}
		if len(names) > 1 && s.Engine != "" {
			k.member = "engine " + s.Engine
		}
		for name, v := range s.Values {
			k.name = name
			if series[k] == nil {
				series[k] = &result.Series{Name: name, Member: k.member, Source: "log"}
			}
			series[k].T, series[k].V = append(series[k].T, times[i]), append(series[k].V, v)
		}
	}
	var out []result.Series
	for _, k := range slices.SortedFunc(maps.Keys(series), func(a, b key) int {
		return cmp.Or(strings.Compare(a.member, b.member), strings.Compare(a.name, b.name))
	}) {
		s := series[k]
		s.Thin(most)
		out = append(out, *s)
	}
	return out
}

// elapsed returns the seconds of each line since the first. In a log without years a step back of
// half a year starts the next year.
func elapsed(samples []EngineSample) []float64 {
	const halfYear = 183 * 24 * time.Hour
	out := make([]float64, len(samples))
	year, last := time.Duration(0), samples[0].Time
	for i, s := range samples {
		if last.Sub(s.Time) > halfYear {
			year += 366 * 24 * time.Hour
		}
		last = s.Time
		out[i] = (s.Time.Sub(samples[0].Time) + year).Seconds()
	}
	return out
}
