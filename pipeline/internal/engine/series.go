package engine

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// These limits bound the points of series. The runs of a plan share a budget, so that our reader accepts a document of
// thousands of runs.
const (
	mostPoints   = 300
	leastPoints  = 10
	budgetPoints = 700_000 // over all series of all runs
	usualSeries  = 14      // of a run
)

// These are the sources of series.
const (
	sourceMetrics = "metrics"
	sourceLog     = "log"
	sourceClient  = "client"
)

// seriesPoints returns how many points a series of this plan may have.
func (r *runner) seriesPoints() int {
	return min(mostPoints, max(leastPoints, budgetPoints/(usualSeries*max(1, r.plan.Estimate.Runs))))
}

// series turns points into one series per value name.
func series(member, source string, points iter.Seq[point], at func(time.Time) float64, most int) []result.Series {
	byName := map[string]*result.Series{}
	for p := range points {
		t := at(p.at)
		for name, v := range p.values {
			s := byName[name]
			if s == nil {
				s = &result.Series{Name: name, Member: member, Source: source}
				byName[name] = s
			}
			s.T, s.V = append(s.T, t), append(s.V, v)
		}
	}
	var out []result.Series
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		s := byName[name]
		s.Thin(most)
		for i := range s.T {
			s.T[i], s.V[i] = toMilliseconds(s.T[i]), significant(s.V[i])
		}
		out = append(out, *s)
	}
	return out
}

// significant rounds to four significant digits, which suffice for charts and keep the document small.
func significant(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // parses its own output
	return short
}

// toMilliseconds rounds seconds.
func toMilliseconds(v float64) float64 { return math.Round(v*1000) / 1000 }

// watchClient adds the series of the load generator, and warns of failed requests.
func (r *runner) watchClient(_ context.Context, s *server, w *watch) Watcher {
	return Watcher{
		Tell: func(run *result.Run) {
			if workload := w.cell.Workload; !r.o.Bare && workload.Answers == nil {
				run.Series = append(run.Series, clientSeries(w.got.records, openLoop(workload.Load), r.seriesPoints())...)
			}
			r.warnFailures(s.Target, w.label(), w.got.records)
		},
		Count: func(t *counted.Tally) { t.Client(w.got.counts()) },
	}
}

// These are the client's own series of a run.
const (
	seriesTTFT = "ttft" // median of the requests planned in a part of the run, seconds
	seriesLag  = "lag"  // largest lag of these requests, seconds of real time
)

// openLoop reports whether only the client can delay a send, since no concurrency limit applies.
func openLoop(l steps.Load) bool { return l.MaxConcurrency == 0 }

// clientParts is the number of equal parts into which a run is divided for the client's series.
const clientParts = 60

// begin returns when a request was planned, or when it was sent if it had to wait for others.
func begin(q *record.Request) int64 {
	if q.Planned < 0 && q.Session != nil {
		return q.Sent
	}
	return q.Planned
}

// clientSeries returns the time to first token over the time of a run. In an open loop it also returns how far sends
// lag behind the plan.
func clientSeries(run record.Run, openLoop bool, most int) []result.Series {
	if run.Requests.Len() == 0 {
		return nil
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, q := range run.Requests.All() {
		first, last = min(first, begin(q)), max(last, begin(q))
	}
	parts := min(clientParts, most, run.Requests.Len())
	width := float64(last-first)/float64(parts) + 1
	start := func(part int) int64 { return first + int64(float64(part)*width) }
	times, lags := make([][]float64, parts), make([][]float64, parts)
	for _, q := range run.Requests.All() {
		part := sort.Search(parts-1, func(part int) bool { return begin(q) < start(part+1) })
		if q.Failure == "" && len(q.Events) > 0 && q.First().Tokens > 0 { // an embedding has none
			times[part] = append(times[part], float64(q.First().At-q.Sent)/1e9)
		}
		if q.Sent >= 0 && q.Planned >= 0 {
			lags[part] = append(lags[part], float64(q.Sent-q.Planned)/1e9)
		}
	}
	ttft := result.Series{Name: seriesTTFT, Source: sourceClient}
	lag := result.Series{Name: seriesLag, Source: sourceClient}
	for part := range parts {
		middle := toMilliseconds(float64(start(part)+start(part+1)) / 2e9)
		if times := times[part]; len(times) > 0 {
			slices.Sort(times)
			ttft.T, ttft.V = append(ttft.T, middle), append(ttft.V, significant(times[len(times)/2]))
		}
		if lags := lags[part]; len(lags) > 0 {
			lag.T, lag.V = append(lag.T, middle), append(lag.V, significant(max(0, slices.Max(lags))))
		}
	}
	out := []result.Series{ttft}
	if openLoop {
		scale := cmp.Or(run.Audit.TimeScale, 1)
		for i := range lag.V {
			lag.V[i] = significant(lag.V[i] / scale)
		}
		out = append(out, lag)
	}
	return slices.DeleteFunc(out, func(s result.Series) bool { return len(s.T) == 0 })
}
