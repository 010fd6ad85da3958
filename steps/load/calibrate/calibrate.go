// Package calibrate measures what the load generator itself adds to latencies on a
// machine: it loads a mock server (steps/load/mock) whose answers come at known times
// and sets what it measured against what the server saw.
//
//	report, err := calibrate.Run(ctx, url, calibrate.Steady(schedule, 60, 600, 100))
//	err = report.WriteText(os.Stdout)
//
// The server should be another process, so that the two do not share a scheduler. The
// package starts none.
package calibrate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/mock"
	"github.com/servegate/pipeline/steps/record"
)

// Case is one load on the mock.
type Case struct {
	Name     string
	Schedule mock.Schedule // of the server, which must have been started with it
	Load     steps.Load
	// Tokens of every answer.
	Tokens int
	// UserSpace also keeps when the client itself saw each token, for Report.Seen.
	UserSpace bool
}

// Steady is a Poisson load.
func Steady(s mock.Schedule, rate float64, requests, tokens int) Case {
	return Case{
		Name:     fmt.Sprintf("Poisson %g/s, %d requests of %d tokens", rate, requests, tokens),
		Schedule: s, Tokens: tokens, Load: steps.Load{Arrival: load.Poisson, Rate: rate, Requests: requests},
	}
}

// Burst is so many requests at once.
func Burst(s mock.Schedule, requests, tokens int) Case {
	return Case{
		Name:     fmt.Sprintf("%d requests at once, %d tokens each", requests, tokens),
		Schedule: s, Tokens: tokens, Load: steps.Load{Arrival: load.Unlimited, Requests: requests},
	}
}

// Workload is what is sent.
func (c Case) Workload() steps.Workload {
	return steps.Workload{
		Endpoint: "completions", IgnoreEOS: true, Load: c.Load,
		Dataset: steps.Dataset{Kind: "random", InputMin: 16, InputMax: 16, OutputMin: c.Tokens, OutputMax: c.Tokens},
	}
}

// Report sets what was planned, what the server did and what the client measured side by
// side.
type Report struct {
	Case     Case       `json:"-"`
	Name     string     `json:"name"`
	Truth    mock.Truth `json:"truth"`
	Measured mock.Truth `json:"measured"`
	// Seen is Measured by the times at which the client saw each token instead of those
	// at which it arrived; nil unless the case asks for it.
	Seen *mock.Truth `json:"seen,omitempty"`
	// Arrivals of the requests at the server, nil where no rate is planned.
	Arrivals *Arrivals    `json:"arrivals,omitempty"`
	Failed   int          `json:"failed"`
	Audit    record.Audit `json:"audit"`
	// Void is why such a run would be void by the default limits, "" if it would not.
	Void string `json:"void,omitempty"`
}

// Run loads the mock at a URL and reports.
func Run(ctx context.Context, url string, c Case) (Report, error) {
	if _, err := call(ctx, http.MethodPost, url+"/reset"); err != nil {
		return Report{}, err
	}
	opt := load.Options{BaseURL: url, Model: "mock", Workload: c.Workload(), Seed: 1}
	seen := make([][]int64, c.Load.Requests)
	if c.UserSpace {
		for i := range seen {
			seen[i] = make([]int64, 0, c.Tokens)
		}
		opt.Witness = func(i int, _, at int64) { seen[i] = append(seen[i], at) }
	}
	res, err := load.Run(ctx, opt)
	if err != nil {
		return Report{}, err
	}
	truth, err := ask[mock.Truth](ctx, url+"/truth")
	if err != nil {
		return Report{}, err
	}
	_, void := load.Limits{}.Void(res.Run.Audit)
	r := Report{Case: c, Name: c.Name, Truth: truth, Audit: res.Run.Audit, Void: void, Failed: record.Count(res.Run).Failed}
	r.Measured = measured(res.Run, func(q *record.Request, k int) int64 { return q.Events[k].At })
	if c.UserSpace {
		m := measured(res.Run, func(q *record.Request, k int) int64 { return seen[q.Index][k] })
		r.Seen = &m
	}
	if c.Load.Rate > 0 {
		ns, err := ask[[]int64](ctx, url+"/arrivals")
		if err != nil {
			return Report{}, err
		}
		a := arrivalsOf(ns, c.Load.Rate)
		r.Arrivals = &a
	}
	return r, nil
}

// measured is a run in the terms of the server's own account, with token k of a request
// at the time that at says.
func measured(run record.Run, at func(q *record.Request, k int) int64) mock.Truth {
	var ttft, itl []int64
	out := mock.Truth{Peak: run.Audit.PeakConcurrency, CPUSeconds: run.Audit.CPUSeconds}
	for _, q := range run.Requests.All() {
		if q.Failure != "" {
			continue
		}
		out.Requests++
		out.Tokens += len(q.Events)
		ttft = append(ttft, at(q, 0)-q.Sent)
		for k := 1; k < len(q.Events); k++ {
			itl = append(itl, at(q, k)-at(q, k-1))
		}
	}
	out.TTFT, out.ITL = mock.QuantilesOf(ttft), mock.QuantilesOf(itl)
	return out
}

// ask asks the mock for what it saw.
func ask[T any](ctx context.Context, url string) (v T, err error) {
	body, err := call(ctx, http.MethodGet, url)
	if err == nil {
		err = json.Unmarshal(body, &v)
	}
	if err != nil {
		return v, fmt.Errorf("calibrate: the mock's account: %w", err)
	}
	return v, nil
}

func call(ctx context.Context, method, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("calibrate: %s answered with status %d: %w", url, res.StatusCode, err)
	}
	return body, nil
}

// Row is one figure of a report, in milliseconds.
type Row struct {
	Name                    string
	Planned, True, Measured float64
}

// Rows of a report. A figure that the schedule does not plan has 0 for it.
func (r Report) Rows() []Row {
	ms := func(s float64) float64 { return s * 1e3 }
	first, gap := ms(r.Case.Schedule.First.Seconds()), ms(r.Case.Schedule.Gap.Seconds())
	return []Row{
		{"TTFT median", first, ms(r.Truth.TTFT.P50), ms(r.Measured.TTFT.P50)},
		{"TTFT p99", first, ms(r.Truth.TTFT.P99), ms(r.Measured.TTFT.P99)},
		{"ITL median", gap, ms(r.Truth.ITL.P50), ms(r.Measured.ITL.P50)},
		{"ITL p99", gap, ms(r.Truth.ITL.P99), ms(r.Measured.ITL.P99)},
	}
}

// WriteText prints a report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Name)
	fmt.Fprintf(&b, "  %-14s %10s %10s %10s %10s\n", "milliseconds", "planned", "true", "measured", "error")
	for _, row := range r.Rows() {
		fmt.Fprintf(&b, "  %-14s %10.2f %10.3f %10.3f %+10.3f\n", row.Name, row.Planned, row.True, row.Measured, row.Measured-row.True)
	}
	a := r.Audit
	fmt.Fprintf(&b, "  %d of %d requests failed; at most %d streams were open\n", r.Failed, r.Failed+r.Measured.Requests, a.PeakConcurrency)
	fmt.Fprintf(&b, "  clock %s (%d of %d reads without a stamp); read lag p50 %v, p99 %v, max %v\n", a.Clock, a.UserReads, a.Reads,
		round(a.ReadLagP50), round(a.ReadLagP99), round(a.ReadLagMax))
	fmt.Fprintf(&b, "  lag of sends p50 %v, p99 %v, max %v; %.2f %% of events shared a read, error at most %v\n", round(a.LagP50),
		round(a.LagP99), round(a.LagMax),
		100*float64(a.CoalescedReads)/float64(max(a.Events, 1)), round(a.CoalescedMax))
	fmt.Fprintf(&b, "  processor time %.1f µs a token; pauses of the garbage collector at most %v\n",
		1e6*a.CPUSeconds/float64(max(a.Events, 1)), round(a.GCPauseMax))
	if r.Arrivals != nil {
		fmt.Fprintf(&b, "  %d arrivals at the server, %.4g/s; distance from a Poisson process %.4f (p = %.2g)\n",
			r.Arrivals.Requests, r.Arrivals.Rate, r.Arrivals.Distance, r.Arrivals.P)
	}
	if r.Void != "" {
		fmt.Fprintf(&b, "  such a run would be void: %s\n", r.Void)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func round(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
