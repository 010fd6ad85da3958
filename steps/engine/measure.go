package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// maxSeries limits the series of a name, with their labels, that a measure adds up. Each is checked
// for resets.
const maxSeries = 4000

// Series holds the values of a measure in a source at one moment.
type Series struct {
	// Type of the TYPE line; "" if there is none.
	Type string
	// Values by the line's name and labels, as written.
	Values map[string]float64
	// Bounds of the buckets, by the same key; only for a histogram.
	Bounds map[string]float64
	// Names of the labels of all lines, sorted.
	Names []string
	names map[string]bool
}

// SeriesReader reads a series from expositions.
type SeriesReader struct {
	of     steps.Measure
	name   string // of the series: the measure's own or its divisor
	match  map[string]*regexp.Regexp
	wanted map[string]bool // names of lines
}

// Readers returns the readers of a measure's series; over is nil if it has no divisor.
func Readers(m steps.Measure) (of, over *SeriesReader, err error) {
	if of, err = newReader(m, m.Series); err == nil && m.Over != "" {
		over, err = newReader(m, m.Over)
	}
	return of, over, err
}

func newReader(m steps.Measure, name string) (*SeriesReader, error) {
	r := &SeriesReader{of: m, name: name, match: map[string]*regexp.Regexp{}, wanted: map[string]bool{name: true}}
	if m.Kind == steps.MeasureHistogram {
		r.wanted = map[string]bool{name + bucketSuffix: true, name + sumSuffix: true, name + countSuffix: true}
	}
	for label, expression := range m.LabelsMatch {
		whole, err := regexp.Compile("^(?:" + expression + ")$")
		if err != nil {
			return nil, err
		}
		r.match[label] = whole
	}
	return r, nil
}

// Suffixes and label of the lines of a histogram.
const (
	bucketSuffix = "_bucket"
	countSuffix  = "_count"
	boundLabel   = "le"
)

// Read reads the series from an exposition. A missing series has no values. It returns an error for
// a line of the series that is not a finite number, and for too many series.
func (r *SeriesReader) Read(exposition []byte) (Series, error) {
	got := ReadSeries(exposition, []*SeriesReader{r})[0]
	return got.Series, got.Err
}

// Reading is the result of a reader, or its first error.
type Reading struct {
	Series
	Err error
}

// ReadSeries reads the series of all readers from an exposition in one pass. Of up to 100,000 lines
// of a program it only parses those that a reader uses.
func ReadSeries(exposition []byte, readers []*SeriesReader) []Reading {
	out := make([]Reading, len(readers))
	wanted, named := map[string][]int{}, map[string][]int{}
	for i, r := range readers {
		out[i].Series = Series{Values: map[string]float64{}, Bounds: map[string]float64{}, names: map[string]bool{}}
		for name := range r.wanted {
			wanted[name] = append(wanted[name], i)
		}
		// OpenMetrics names a counter without the _total of its lines.
		for _, name := range []string{r.name, strings.TrimSuffix(r.name, "_total")} {
			if !slices.Contains(named[name], i) {
				named[name] = append(named[name], i)
			}
		}
	}
	number := 0
	for line := range bytes.Lines(exposition) {
		number++
		if len(line) > 0 && line[0] == '#' {
			if fields := strings.Fields(string(line)); len(fields) == 4 && fields[1] == "TYPE" {
				for _, i := range named[fields[2]] {
					out[i].typed(readers[i], number, strings.ToLower(fields[3]))
				}
			}
			continue
		}
		end := bytes.IndexAny(line, "{ \t")
		if end < 0 || len(wanted[string(line[:end])]) == 0 {
			continue
		}
		sample, ok := ParseSample(strings.TrimSpace(string(line)))
		for _, i := range wanted[sample.Name] {
			out[i].take(readers[i], number, line, sample, ok)
		}
	}
	for i := range out {
		delete(out[i].names, boundLabel)
		out[i].Names = slices.Sorted(maps.Keys(out[i].names))
		if out[i].Err == nil {
			out[i].Err = readers[i].checkType(out[i].Type)
		}
	}
	return out
}

// typed handles a TYPE line.
func (got *Reading) typed(r *SeriesReader, number int, kind string) {
	if got.Err == nil && got.Type != "" && got.Type != kind {
		got.Err = fmt.Errorf("line %d: %s is a %s, and a %s before", number, r.name, kind, got.Type)
	}
	got.Type = kind
}

// take handles a line of one of the reader's names.
func (got *Reading) take(r *SeriesReader, number int, line []byte, sample Sample, ok bool) {
	if got.Err != nil || !r.matches(sample.Labels) {
		return
	}
	if !ok {
		got.Err = fmt.Errorf("line %d of the metrics is not a finite number: %s", number, clip(line))
		return
	}
	if err := r.add(&got.Series, sample); err != nil {
		got.Err = fmt.Errorf("line %d: %w", number, err)
		return
	}
	for name := range sample.Labels {
		got.names[name] = true
	}
}

func clip(line []byte) string {
	const most = 120
	text := strings.TrimSpace(string(line))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}

// add stores a line.
func (r *SeriesReader) add(s *Series, sample Sample) error {
	key := keyOf(sample)
	if _, twice := s.Values[key]; twice {
		return fmt.Errorf("%s is there twice", key)
	}
	if len(s.Values) == maxSeries {
		return fmt.Errorf("%s has more than %d series, one for each set of labels: choose among them by labels or labels_match", r.name,
			maxSeries)
	}
	s.Values[key] = sample.Value
	if strings.HasSuffix(sample.Name, bucketSuffix) && r.of.Kind == steps.MeasureHistogram {
		bound, err := strconv.ParseFloat(sample.Labels[boundLabel], 64)
		if err != nil || math.IsNaN(bound) {
			return fmt.Errorf("%s is a bucket without a bound", key)
		}
		s.Bounds[key] = bound
	}
	return nil
}

// keyOf returns the name of a line with its labels, sorted by name.
func keyOf(s Sample) string {
	if len(s.Labels) == 0 {
		return s.Name
	}
	var b strings.Builder
	b.WriteString(s.Name)
	for i, name := range slices.Sorted(maps.Keys(s.Labels)) {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(strconv.Quote(s.Labels[name]))
	}
	b.WriteByte('}')
	return b.String()
}

// matches reports whether the measure selects the labels.
func (r *SeriesReader) matches(labels map[string]string) bool {
	for name, want := range r.of.Labels {
		if labels[name] != want {
			return false
		}
	}
	for name, want := range r.match {
		if !want.MatchString(labels[name]) {
			return false
		}
	}
	return true
}

// ErrKind is in the chain of errors about a series of another kind than the measure states.
var ErrKind = errors.New("another kind of series")

// checkType compares the source's type of the series with the measure's kind. Some programs declare
// a counter as a gauge, because it can be set. A measure may use it as a counter.
func (r *SeriesReader) checkType(kind string) error {
	switch {
	case kind == "" || kind == "untyped" || kind == "unknown" || kind == string(r.of.Kind):
		return nil
	case r.of.Kind == steps.MeasureCounter && kind == "gauge" && !strings.HasSuffix(r.name, "_total"):
		return nil
	}
	return fmt.Errorf("%w: its source calls %s a %s, and the measure says kind = %q", ErrKind, r.name, kind, r.of.Kind)
}

// Rise is the increase of every line of a series.
type Rise struct {
	Values map[string]float64
	Bounds map[string]float64
}

// RiseOf returns the increase of a series between two moments. A new line counts from zero. It
// returns an error if a line fell or disappeared, or if the type changed.
func RiseOf(before, after Series) (Rise, error) {
	out := Rise{Values: map[string]float64{}, Bounds: after.Bounds}
	if before.Type != after.Type && len(before.Values) > 0 && len(after.Values) > 0 {
		return out, fmt.Errorf("the series was of type %s before the run and of %s after it", cmp.Or(before.Type, "none"),
			cmp.Or(after.Type, "none"))
	}
	for _, key := range slices.Sorted(maps.Keys(after.Values)) {
		rise := after.Values[key] - before.Values[key]
		if rise < 0 {
			return out, fmt.Errorf("%s fell from %g to %g: its program was restarted or has reset it", key, before.Values[key], after.Values[key])
		}
		out.Values[key] = rise
	}
	for _, key := range slices.Sorted(maps.Keys(before.Values)) {
		if _, there := after.Values[key]; !there {
			return out, fmt.Errorf("%s was there before the run and not after it", key)
		}
	}
	return out, nil
}

// FirstSeen returns a line that exists after the run but not before.
func FirstSeen(before, after Series) (key string, is bool) {
	for _, key := range slices.Sorted(maps.Keys(after.Values)) {
		if _, there := before.Values[key]; !there {
			return key, true
		}
	}
	return "", false
}

// Sum returns the total increase of the lines with a name suffix.
func (r Rise) Sum(suffix string) float64 {
	sum := 0.0
	for _, key := range slices.Sorted(maps.Keys(r.Values)) {
		if name, _, _ := strings.Cut(key, "{"); strings.HasSuffix(name, suffix) {
			sum += r.Values[key]
		}
	}
	return sum
}

// Histogram is the increase of all lines of a histogram together.
type Histogram struct {
	Sum, Count float64
	// Cumulative counts by upper bounds of the buckets; the last bound is infinite.
	Bounds, Cumulative []float64
}

// HistogramOf adds up increases of histograms, which must have the same buckets.
func HistogramOf(rises []Rise) (Histogram, error) {
	var h Histogram
	for i, r := range rises {
		h.Sum += r.Sum(sumSuffix)
		h.Count += r.Sum(countSuffix)
		counts := map[float64]float64{}
		for key, bound := range r.Bounds {
			counts[bound] += r.Values[key]
		}
		bounds := slices.Sorted(maps.Keys(counts))
		if i == 0 {
			h.Bounds, h.Cumulative = bounds, make([]float64, len(bounds))
		}
		if !slices.Equal(bounds, h.Bounds) {
			return h, fmt.Errorf("the servers count in different buckets: %d in one and %d in another", len(h.Bounds), len(bounds))
		}
		for k, bound := range bounds {
			h.Cumulative[k] += counts[bound]
		}
	}
	return h, h.check()
}

// check returns an error for histograms with inconsistent lines.
func (h Histogram) check() error {
	for k := 1; k < len(h.Cumulative); k++ {
		if h.Cumulative[k] < h.Cumulative[k-1] {
			return fmt.Errorf("fewer counts up to %g than up to %g: its buckets are not cumulative, or not all series have the same ones",
				h.Bounds[k], h.Bounds[k-1])
		}
	}
	return nil
}

// Quantile returns the q-quantile, linear within its bucket. The first bucket begins at zero, or at
// its bound if that is negative. Beyond the last finite bound the quantile is unknown.
func (h Histogram) Quantile(q float64) (float64, error) {
	n := len(h.Bounds)
	if n < 2 || !math.IsInf(h.Bounds[n-1], 1) {
		return 0, errors.New("it has no buckets that end at +Inf, so it has no percentiles")
	}
	total := h.Cumulative[n-1]
	if total <= 0 {
		return 0, errors.New("its buckets counted nothing")
	}
	k := slices.IndexFunc(h.Cumulative, func(c float64) bool { return c > 0 && c >= q*total })
	if k == n-1 {
		return 0, fmt.Errorf("its %g-quantile is beyond its largest bucket, which ends at %g", q, h.Bounds[n-2])
	}
	low, below := min(0, h.Bounds[0]), 0.0
	if k > 0 {
		low, below = h.Bounds[k-1], h.Cumulative[k-1]
	}
	if h.Cumulative[k] == below {
		return h.Bounds[k], nil
	}
	return low + (h.Bounds[k]-low)*(q*total-below)/(h.Cumulative[k]-below), nil
}
