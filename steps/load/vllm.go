package load

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// VLLMOptions hold the values of the vLLM-shaped outputs that are not in the run.
type VLLMOptions struct {
	// MaxConcurrency and RequestRate as configured; 0 if not set (rate: unlimited).
	MaxConcurrency int
	RequestRate    float64
	// Metrics selects latency groups (vLLM's --percentile-metrics): ttft, tpot, itl, e2el,
	// client_queue_time, e2el_including_client_queue. Default ttft, tpot, itl, and e2el of
	// embeddings.
	Metrics []string
	// Percentiles in percent (vLLM's --metric-percentiles). Default 99.
	Percentiles []float64

	// Detailed adds the per-request arrays to the JSON (--save-detailed).
	Detailed bool
	// Date ("20260102-150405"), Backend, EndpointType, Label, ModelID and Burstiness are written to the
	// JSON's head unchanged. NumPrompts is the number of requested prompts; 0 selects the run's number.
	Date, Backend, EndpointType, Label, ModelID string
	Burstiness                                  float64
	NumPrompts                                  int
}

func (o VLLMOptions) withDefaults(run record.Run) VLLMOptions {
	if o.Metrics == nil {
		o.Metrics = []string{"ttft", "tpot", "itl"}
		if embeds(run) {
			o.Metrics = []string{"e2el"}
		}
	}
	if o.Percentiles == nil {
		o.Percentiles = []float64{99}
	}
	if math.IsInf(o.RequestRate, 1) {
		o.RequestRate = 0
	}
	return o
}

// embeds reports whether a run's answers are embeddings.
func embeds(run record.Run) bool {
	for _, r := range run.Requests.All() {
		if r.Failure == "" && len(r.Events) > 0 && r.Events[0].Tokens == 0 {
			return true
		}
	}
	return false
}

// vllmGroup is one latency section of the block.
type vllmGroup struct {
	attr, name, header string
	seconds            []float64
}

// vllmGroups lists the sections that vLLM would show, in its order.
func vllmGroups(run record.Run, o VLLMOptions) []vllmGroup {
	s := record.Collect(run)
	var all []vllmGroup
	if !embeds(run) {
		all = append(all,
			vllmGroup{"ttft", "TTFT", "Time to First Token", s.TTFT},
			vllmGroup{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", slices.Concat(s.TPOT, make([]float64, s.OnePiece))},
			vllmGroup{"itl", "ITL", "Inter-token Latency", s.ITL})
	}
	all = append(all, vllmGroup{"e2el", "E2EL", "End-to-end Latency", s.E2EL})
	if o.MaxConcurrency > 0 {
		all = append(all, vllmGroup{"client_queue_time", "Client Queue Time", "Client-side Queueing", s.Queue})
		if o.RequestRate > 0 {
			all = append(all, vllmGroup{"e2el_including_client_queue", "E2EL incl. Client Queue", "Queue-inclusive End-to-end Latency",
				s.E2ELFromSchedule})
		}
	}
	return slices.DeleteFunc(all, func(g vllmGroup) bool { return !slices.Contains(o.Metrics, g.attr) })
}

// stats returns the figures of one section in milliseconds. As in vLLM missing data reads 0.
func (g vllmGroup) stats(percentiles []float64) (mean, median, std float64, p []float64) {
	p = make([]float64, len(percentiles))
	if len(g.seconds) == 0 {
		return 0, 0, 0, p
	}
	asc := slices.Sorted(slices.Values(g.seconds))
	for i, q := range percentiles {
		p[i] = 1e3 * record.Quantile(asc, q/100)
	}
	return 1e3 * record.Mean(g.seconds), 1e3 * record.Quantile(asc, 0.5), 1e3 * record.Std(g.seconds), p
}

// percentileWord formats a percentile as vLLM does: 99, 99.9.
func percentileWord(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// vllmSummary holds the figures of the block's first part.
type vllmSummary struct {
	record.Totals
	seconds               float64
	perSecond             func(int) float64
	peakTokens            float64
	peakConcurrentSuccess int
	goodput               *float64 // requests per second, nil without limits
	embeddings            bool
}

func summarize(run record.Run) vllmSummary {
	s := vllmSummary{Totals: record.Count(run), seconds: float64(run.Duration) / 1e9, embeddings: embeds(run)}
	s.perSecond = func(n int) float64 {
		if s.seconds <= 0 {
			return 0
		}
		return float64(n) / s.seconds
	}
	if run.Goodput != (steps.Goodput{}) {
		rate := s.perSecond(record.Good(run))
		s.goodput = &rate
	}
	var ok record.Run
	for _, r := range run.Requests.All() {
		if r.Failure == "" {
			ok.Requests.Add(*r)
		}
	}
	s.peakTokens = float64(peakEvents(ok.Requests))
	s.peakConcurrentSuccess = record.PeakConcurrency(ok)
	return s
}

// peakEvents returns vLLM's peak output throughput: the most stream events (each counted as one token) in one
// of the seconds since the first send.
func peakEvents(requests record.List) int {
	start := int64(math.MaxInt64)
	for _, r := range requests.All() {
		start = min(start, r.Sent)
	}
	buckets, peak := map[int64]int{}, 0
	for _, r := range requests.All() {
		for _, e := range r.Events {
			b := (e.At - start) / 1e9
			buckets[b]++
			peak = max(peak, buckets[b])
		}
	}
	return peak
}

// WriteVLLMBlock prints the result block of `vllm bench serve` 0.33, exact to the space. Two figures differ
// intentionally: the duration is the one of this program's throughputs (first send to last end; vLLM begins
// one gap earlier), and the peak of concurrent requests is exact, whereas vLLM 0.33 counts all requests that
// overlap the same second.
func WriteVLLMBlock(w io.Writer, run record.Run, opt VLLMOptions) error {
	opt = opt.withDefaults(run)
	var b bytes.Buffer
	rule(&b, " Serving Benchmark Result ", '=')
	writeSummary(&b, summarize(run), opt)
	for _, g := range vllmGroups(run, opt) {
		mean, median, _, ps := g.stats(opt.Percentiles)
		rule(&b, g.header, '-')
		rowFloat(&b, "Mean "+g.name+" (ms):", mean)
		rowFloat(&b, "Median "+g.name+" (ms):", median)
		for i, p := range opt.Percentiles {
			rowFloat(&b, "P"+percentileWord(p)+" "+g.name+" (ms):", ps[i])
		}
	}
	b.WriteString(strings.Repeat("=", 50) + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

func writeSummary(b *bytes.Buffer, s vllmSummary, opt VLLMOptions) {
	rowInt(b, "Successful requests:", s.Succeeded)
	rowInt(b, "Failed requests:", s.Failed)
	if opt.MaxConcurrency > 0 {
		rowInt(b, "Maximum request concurrency:", opt.MaxConcurrency)
	}
	if opt.RequestRate > 0 {
		rowFloat(b, "Request rate configured (RPS):", opt.RequestRate)
	}
	rowFloat(b, "Benchmark duration (s):", s.seconds)
	rowInt(b, "Total input tokens:", s.InputTokens)
	if !s.embeddings {
		rowInt(b, "Total generated tokens:", s.OutputTokens)
	}
	rowFloat(b, "Request throughput (req/s):", s.perSecond(s.Succeeded))
	if s.embeddings {
		rowFloat(b, "Input throughput (inputs/s):", s.perSecond(s.Succeeded))
	}
	if s.goodput != nil {
		rowFloat(b, "Request goodput (req/s):", *s.goodput)
	}
	if !s.embeddings {
		rowFloat(b, "Output token throughput (tok/s):", s.perSecond(s.OutputTokens))
		rowFloat(b, "Peak output token throughput (tok/s):", s.peakTokens)
		rowFloat(b, "Peak concurrent requests:", float64(s.peakConcurrentSuccess))
	}
	rowFloat(b, "Total token throughput (tok/s):", s.perSecond(s.InputTokens+s.OutputTokens))
}

// rule centres a title in 50 characters, with an odd fill character on the right (Python's "^").
func rule(b *bytes.Buffer, title string, fill byte) {
	left := (50 - len(title)) / 2
	right := 50 - len(title) - left
	f := string(fill)
	b.WriteString(strings.Repeat(f, left) + title + strings.Repeat(f, right) + "\n")
}

func rowInt(b *bytes.Buffer, label string, v int) { fmt.Fprintf(b, "%-40s %-10d\n", label, v) }

func rowFloat(b *bytes.Buffer, label string, v float64) {
	fmt.Fprintf(b, "%-40s %-10.2f\n", label, v)
}
