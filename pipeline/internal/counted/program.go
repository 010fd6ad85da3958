package counted

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// fetchTimeout limits how long reading a program's metrics may take.
const fetchTimeout = 2 * time.Second

// errRehearsed is the error for an exporter of the machine in a run with simulated servers.
var errRehearsed = lasting{errors.New(
	"a rehearsal reads no exporter of the machine, since no real server uses it; choose other gates with --gate")}

// ErrOwnTime is the error for a program in virtual time, whose metrics cannot be read.
var ErrOwnTime = Lasting(errors.New("in virtual time there is nothing to ask for it; rehearse with --simulate, whose servers have sockets"))

// Fetch reads the metrics of a program.
type Fetch func(context.Context) ([]byte, error)

// Program is a program whose metrics the file's measures read during one run.
type Program struct {
	Label string
	// fetch reads its metrics. It is nil for a server that is watched anyway, whose text is passed to Take.
	fetch    Fetch
	measures []*series
	// err is the reason why the program could not be read before or after the run.
	err error
}

// series holds what a measure reads of one program.
type series struct {
	measure  steps.Measure
	of, over *engine.SeriesReader
	// before and after hold the series and its divisor before and after the run.
	before, after [2]engine.Series
	samples       []sample
	err           error // first error of reading
}

// sample is the value of a gauge of one program at one time.
type sample struct {
	at      time.Time
	sum, n  float64
	largest float64
}

// NewProgram returns a program for the measures that are read from source; nil if there are none.
func NewProgram(label string, fetch Fetch, measures []steps.Measure, source steps.MeasureSource) *Program {
	return newProgram(label, fetch, measures, func(m steps.Measure) bool { return m.Source == source })
}

func newProgram(label string, fetch Fetch, measures []steps.Measure, which func(steps.Measure) bool) *Program {
	p := &Program{Label: label, fetch: fetch}
	for _, m := range measures {
		if which(m) {
			x := &series{measure: m}
			x.of, x.over, x.err = engine.Readers(m)
			p.measures = append(p.measures, x)
		}
	}
	if len(p.measures) == 0 {
		return nil
	}
	return p
}

// Exporters returns the programs that measures name by their address. In a simulated run their fetch returns an
// error.
func Exporters(measures []steps.Measure, simulated bool) []*Program {
	var out []*Program
	for _, m := range measures {
		if m.Source != steps.MeasureURL || slices.ContainsFunc(out, func(p *Program) bool { return p.Label == m.URL }) {
			continue
		}
		fetch := fetchURL(m.URL)
		if simulated {
			fetch = func(context.Context) ([]byte, error) { return nil, errRehearsed }
		}
		out = append(out, newProgram(m.URL, fetch, measures,
			func(x steps.Measure) bool { return x.Source == steps.MeasureURL && x.URL == m.URL }))
	}
	return out
}

// FetchMetrics returns a Fetch for /metrics of a server or router.
func FetchMetrics(ep steps.Endpoint) Fetch { return fetchPath(ep, "/metrics") }

func fetchPath(ep steps.Endpoint, path string) Fetch {
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		a, err := engine.NewClient().Get(ctx, ep, path)
		if err == nil && !a.OK() {
			err = a.Err("GET " + path)
		}
		return a.Body, err
	}
}

// fetchURL returns a Fetch for an address that package lang has checked.
func fetchURL(address string) Fetch {
	u, err := url.Parse(address)
	if err != nil {
		return func(context.Context) ([]byte, error) { return nil, err }
	}
	return fetchPath(steps.Endpoint{BaseURL: u.Scheme + "://" + u.Host}, cmp.Or(u.RequestURI(), "/"))
}

// Moment is the time of a reading. Counters are read before and after a run; gauges are sampled during it.
type Moment int

// The moments of a run.
const (
	BeforeRun Moment = iota
	DuringRun
	AfterRun
)

// Wants reports whether a measure reads the program at a moment.
func (p *Program) Wants(when Moment) bool {
	return when != DuringRun || slices.ContainsFunc(p.measures, func(x *series) bool { return x.measure.Kind == steps.MeasureGauge })
}

// Fail records why the program could not be read. It ignores a failed sample of a gauge, because sampling continues.
func (p *Program) Fail(err error, when Moment) {
	if p.err == nil && when != DuringRun {
		p.err = err
	}
}

// Take reads the series of all measures from an exposition.
func (p *Program) Take(text []byte, at time.Time, when Moment) {
	type end struct {
		x *series
		i int // index of before and after
	}
	var ends []end
	var readers []*engine.SeriesReader
	for _, x := range p.measures {
		if (x.measure.Kind == steps.MeasureGauge) != (when == DuringRun) || x.err != nil {
			continue
		}
		for i, reader := range []*engine.SeriesReader{x.of, x.over} {
			if reader != nil {
				ends, readers = append(ends, end{x, i}), append(readers, reader)
			}
		}
	}
	for k, got := range engine.ReadSeries(text, readers) {
		switch x := ends[k].x; {
		case got.Err != nil:
			x.err = cmp.Or(x.err, got.Err)
		case when == BeforeRun:
			x.before[ends[k].i] = got.Series
		case when == AfterRun:
			x.after[ends[k].i] = got.Series
		default:
			x.sample(got.Series, at)
		}
	}
}

func (x *series) sample(s engine.Series, at time.Time) {
	if len(s.Values) == 0 {
		return
	}
	g := sample{at: at, n: float64(len(s.Values)), largest: math.Inf(-1)}
	x.after[0] = s
	for _, v := range s.Values {
		g.sum += v
		g.largest = max(g.largest, v)
	}
	x.samples = append(x.samples, g)
}

// Look fetches and reads the metrics of a program that has a fetch function.
func (p *Program) Look(ctx context.Context, now func() time.Time, when Moment) {
	if p.fetch == nil {
		return
	}
	if text, err := p.fetch(ctx); err == nil {
		p.Take(text, now(), when)
	} else {
		p.Fail(err, when)
	}
}

// Sample calls Look periodically until ctx ends, if there is a gauge to sample.
func (p *Program) Sample(ctx context.Context, now func() time.Time, every time.Duration) {
	if p.fetch == nil || !p.Wants(DuringRun) {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.Look(ctx, now, DuringRun)
		}
	}
}

// Labelled is a measure with the label names of its series in a program.
type Labelled struct {
	Measure steps.Measure
	Names   []string
}

// Labels lists the measures whose series exist.
func (p *Program) Labels() []Labelled {
	var out []Labelled
	for _, x := range p.measures {
		if len(x.after[0].Values) > 0 {
			out = append(out, Labelled{x.measure, x.after[0].Names})
		}
	}
	return out
}
