package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
)

const (
	// leastSamples of a gauge within a run are worth a mean or a maximum.
	leastSamples = 5
	// mostUnsampled is the share of a run that may go by between two of them: a server that is too busy to
	// show its metrics would else be described by its quiet times.
	mostUnsampled = 0.5
)

// errRehearsed is why an exporter of the machine is not read beside simulated servers.
var errRehearsed = lasting{errors.New(
	"a rehearsal reads no exporter of the machine, since no real server uses it; choose other gates with --gate")}

// errOwnTime is why what stands in a place whose time is its own cannot be asked.
var errOwnTime = lasting{errors.New("in virtual time there is nothing to ask for it; rehearse with --simulate, whose servers have sockets")}

// exposer is a program whose metrics the file's measures read during one run.
type exposer struct {
	label string
	// fetch reads its metrics; nil for a server that is watched anyway, see view.
	fetch    func(context.Context) ([]byte, error)
	measures []*exposed
	// err is why it could not be read before or after the run.
	err error
}

// exposed is what a measure reads of one program.
type exposed struct {
	measure  steps.Measure
	of, over *engines.SeriesReader
	// before and after the run, of the series and of the one that it is divided by.
	before, after [2]engines.Series
	samples       []gaugeSample
	err           error // of reading; the first counts
}

// gaugeSample is a gauge of one program at one moment.
type gaugeSample struct {
	at      time.Time
	sum, n  float64
	largest float64
}

// expose prepares what reads the measures of the plan from the parts of a target.
func (r *runner) expose(s *server, w *watch) {
	ownTime := slices.ContainsFunc(w.views, func(v *view) bool { _, own := v.observer.(HistoryObserver); return own })
	of := func(label string, fetch func(context.Context) ([]byte, error), which func(steps.Measure) bool) *exposer {
		e := &exposer{label: label, fetch: fetch}
		for _, m := range r.plan.Measures {
			if which(m) {
				x := &exposed{measure: m}
				x.of, x.over, x.err = engines.Readers(m)
				e.measures = append(e.measures, x)
			}
		}
		if len(e.measures) > 0 {
			w.exposers = append(w.exposers, e)
		}
		return e
	}
	from := func(source steps.MeasureSource) func(steps.Measure) bool {
		return func(m steps.Measure) bool { return m.Source == source }
	}
	for _, m := range s.members {
		switch {
		case m.isServer():
			i := slices.IndexFunc(w.views, func(v *view) bool { return v.member == m })
			if i < 0 {
				of(m.label(s.Target), fetchMetrics(m.endpoint, "/metrics"), from(steps.MeasureServers))
				continue
			}
			w.views[i].exposer = of(m.label(s.Target), nil, from(steps.MeasureServers))
		case m.Role == result.RoleRouter:
			e := of(m.label(s.Target), fetchMetrics(m.endpoint, "/metrics"), from(steps.MeasureRouter))
			if ownTime {
				e.fetch = func(context.Context) ([]byte, error) { return nil, errOwnTime }
			}
		}
	}
	var urls []string
	for _, m := range r.plan.Measures {
		if m.Source != steps.MeasureURL || slices.Contains(urls, m.URL) {
			continue
		}
		urls = append(urls, m.URL)
		e := of(m.URL, fetchURL(m.URL), func(x steps.Measure) bool { return x.Source == steps.MeasureURL && x.URL == m.URL })
		if r.plan.Simulated != "" {
			e.fetch = func(context.Context) ([]byte, error) { return nil, errRehearsed }
		}
	}
}

func fetchMetrics(ep steps.Endpoint, path string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		a, err := engines.NewClient().Get(ctx, ep, path)
		if err == nil && !a.OK() {
			err = a.Err("GET " + path)
		}
		return a.Body, err
	}
}

// fetchURL reads the metrics at an address that the language has checked.
func fetchURL(address string) func(context.Context) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return func(context.Context) ([]byte, error) { return nil, err }
	}
	return fetchMetrics(steps.Endpoint{BaseURL: u.Scheme + "://" + u.Host}, cmp.Or(u.RequestURI(), "/"))
}

// moment is when an exposition is read, for what counts: a gauge is only sampled between the ends.
type moment int

const (
	beforeRun moment = iota
	duringRun
	afterRun
)

// read takes the series of all measures from an exposition.
func (e *exposer) read(text []byte, at time.Time, when moment) {
	type end struct {
		x *exposed
		i int // of before and after
	}
	var ends []end
	var readers []*engines.SeriesReader
	for _, x := range e.measures {
		if (x.measure.Kind == steps.MeasureGauge) != (when == duringRun) || x.err != nil {
			continue
		}
		for i, reader := range []*engines.SeriesReader{x.of, x.over} {
			if reader != nil {
				ends, readers = append(ends, end{x, i}), append(readers, reader)
			}
		}
	}
	for k, got := range engines.ReadSeries(text, readers) {
		switch x := ends[k].x; {
		case got.Err != nil:
			x.err = cmp.Or(x.err, got.Err)
		case when == beforeRun:
			x.before[ends[k].i] = got.Series
		case when == afterRun:
			x.after[ends[k].i] = got.Series
		default:
			x.sample(got.Series, at)
		}
	}
}

func (x *exposed) sample(s engines.Series, at time.Time) {
	if len(s.Values) == 0 {
		return
	}
	g := gaugeSample{at: at, n: float64(len(s.Values)), largest: math.Inf(-1)}
	x.after[0] = s
	for _, v := range s.Values {
		g.sum += v
		g.largest = max(g.largest, v)
	}
	x.samples = append(x.samples, g)
}

// look fetches and reads the metrics of a program that is not watched otherwise.
func (e *exposer) look(ctx context.Context, now func() time.Time, when moment) {
	if e.fetch == nil {
		return
	}
	text, err := e.fetch(ctx)
	if err == nil {
		e.read(text, now(), when)
	} else if e.err == nil && when != duringRun {
		e.err = err
	}
}

// sampled reports whether a gauge is among the measures.
func (e *exposer) sampled() bool {
	return slices.ContainsFunc(e.measures, func(x *exposed) bool { return x.measure.Kind == steps.MeasureGauge })
}

// during looks again and again until ctx ends, where there is a gauge to sample.
func (e *exposer) during(ctx context.Context, now func() time.Time, every time.Duration) {
	if e.fetch == nil || !e.sampled() {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			e.look(ctx, now, duringRun)
		}
	}
}

// errAbsent is why a series that is not there has no value.
var errAbsent = lasting{errors.New("no series of this name and with these labels is there")}

// declaredMetrics are the metrics that the file declares, as those that every file has are written.
func declaredMetrics(measures []steps.Measure) []counted {
	out := make([]counted, len(measures))
	for i, m := range measures {
		c := counted{metric: m.ID(), factor: m.Factor}
		switch m.Kind {
		case steps.MeasureCounter:
			c.of, c.by = riseOf(m, 0), divisors[m.Per]
			if m.Over != "" {
				c.by = riseOf(m, 1)
			}
		case steps.MeasureHistogram:
			c.of = seriesOf(m, func(_ *tally, found []*exposed) (float64, error) { return ofHistogram(m, found) })
		case steps.MeasureGauge:
			c.of = seriesOf(m, func(t *tally, found []*exposed) (float64, error) { return ofGauge(m, found, t.began, t.ended) })
		}
		out[i] = c
	}
	return out
}

// seriesOf is a quantity that is made of what all programs showed of a measure's series.
func seriesOf(m steps.Measure, of func(*tally, []*exposed) (float64, error)) quantity {
	return quantity{m.Selector(), func(t *tally) (float64, error) {
		found, err := t.exposed(m)
		if err != nil {
			return 0, err
		}
		return of(t, found)
	}}
}

// riseOf is what the series of a counter rose by, or the one that it is divided by.
func riseOf(m steps.Measure, i int) quantity {
	q := seriesOf(m, func(_ *tally, found []*exposed) (float64, error) {
		list, err := rises(m, found, i)
		if err == nil && i == 1 && len(list) == 0 {
			err = fmt.Errorf("%s: %w", m.Over, errAbsent)
		}
		sum := 0.0
		for _, r := range list {
			sum += r.Sum("")
		}
		return sum, err
	})
	if i == 1 {
		q.name = m.Over
	}
	return q
}

// exposed is what all programs showed of a measure's series.
func (t *tally) exposed(m steps.Measure) ([]*exposed, error) {
	var found []*exposed
	for _, e := range t.exposers {
		for _, x := range e.measures {
			if x.measure.Name != m.Name {
				continue
			}
			if err := errors.Join(e.err, x.err); err != nil {
				return nil, fmt.Errorf("%s: %w", e.label, err)
			}
			found = append(found, x)
		}
	}
	there := slices.ContainsFunc(found, func(x *exposed) bool { return len(x.after[0].Values)+len(x.before[0].Values) > 0 })
	if !there && !m.AbsentIsZero || len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", m.Selector(), errAbsent)
	}
	return found, nil
}

// rises of the i-th series of a measure, by program. Servers count from zero on, so that a line that is new
// rose from nothing; what an exporter of the machine shows for the first time it may have counted for months.
func rises(m steps.Measure, found []*exposed, i int) ([]engines.Rise, error) {
	var out []engines.Rise
	for _, x := range found {
		if m.Source == steps.MeasureURL && !m.AbsentIsZero {
			if key, is := engines.FirstSeen(x.before[i], x.after[i]); is {
				return nil, fmt.Errorf("%s was not there before the run, so what it rose by is not known: show it from the start, or in the warm-up; "+
					"absent_is_zero is for counters that begin at zero when they are first shown", key)
			}
		}
		rise, err := engines.RiseOf(x.before[i], x.after[i])
		if err != nil {
			return nil, err
		}
		if len(rise.Values) > 0 {
			out = append(out, rise)
		}
	}
	return out, nil
}

func ofHistogram(m steps.Measure, found []*exposed) (float64, error) {
	list, err := rises(m, found, 0)
	if err != nil {
		return 0, err
	}
	h, err := engines.HistogramOf(list)
	switch {
	case err != nil:
		return 0, err
	case h.Count <= 0:
		return 0, fmt.Errorf("%s counted nothing in the measured window", m.Selector())
	case m.Quantile() > 0:
		return h.Quantile(m.Quantile())
	}
	return h.Sum / h.Count, nil
}

// ofGauge joins what the programs showed: whenever one is sampled, with what the others showed last.
func ofGauge(m steps.Measure, found []*exposed, began, ended time.Time) (float64, error) {
	type seen struct {
		program int
		gaugeSample
	}
	var all []seen
	gap := time.Duration(0) // the longest in which a program was not sampled
	last := map[int]gaugeSample{}
	for i, x := range found {
		before := began
		for _, s := range x.samples {
			if s.at.After(began) && s.at.Before(ended) {
				all = append(all, seen{i, s})
				before, gap = s.at, max(gap, s.at.Sub(before))
			}
		}
		gap = max(gap, ended.Sub(before))
	}
	slices.SortStableFunc(all, func(a, b seen) int { return a.at.Compare(b.at) })
	var values []float64
	for _, s := range all {
		last[s.program] = s.gaugeSample
		if len(last) == len(found) {
			values = append(values, across(m.Across, last))
		}
	}
	if len(values) < leastSamples {
		return 0, fmt.Errorf("%s was read %d times within the run, and %d are the least that say something: measure for longer", m.Selector(),
			len(values), leastSamples)
	}
	if lasted := ended.Sub(began); gap.Seconds() > mostUnsampled*lasted.Seconds() {
		return 0, fmt.Errorf("%s was not read for %s of a run of %s", m.Selector(), gap.Round(time.Millisecond), lasted.Round(time.Millisecond))
	}
	if m.Statistic == steps.MeasureMax {
		return slices.Max(values), nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)), nil
}

func across(how steps.MeasureAcross, at map[int]gaugeSample) float64 {
	sum, n, largest := 0.0, 0.0, math.Inf(-1)
	for i := range len(at) {
		sum, n, largest = sum+at[i].sum, n+at[i].n, max(largest, at[i].largest)
	}
	switch how {
	case steps.AcrossMean:
		return sum / n
	case steps.AcrossMax:
		return largest
	}
	return sum
}

// warnLabels warns once where a measure adds up series with other labels than those of a target before it:
// the programs may not count the same.
func (r *runner) warnLabels(target string, w *watch) {
	for _, e := range w.exposers {
		for _, x := range e.measures {
			names := strings.Join(x.after[0].Names, ", ")
			if len(x.after[0].Values) == 0 {
				continue
			}
			if other, differ := r.labelled(x.measure.ID(), target, names); differ && r.first(r.warned, "labels of "+x.measure.ID()+target) {
				r.warn(fmt.Sprintf(
					"metric.%s: %s has the labels %s at %s, and %s at %s: all of its series are added up, which is the same only if they divide the same",
					x.measure.ID(), x.measure.Series, cmp.Or(names, "(none)"), e.label, cmp.Or(other.names, "(none)"), other.target))
			}
		}
	}
}

// labels are the names of the labels that a measure's series has at a target.
type labels struct{ target, names string }

// labelled notes the labels of a measure at a target, and returns those of the first target that has
// others.
func (r *runner) labelled(id, target, names string) (labels, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, seen := r.labels[id]
	if !seen {
		r.labels[id] = labels{target, names}
		return labels{}, false
	}
	return first, first.names != names
}
