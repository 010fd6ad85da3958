package load

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// SGLangOptions hold the values of the block that are not in the run.
type SGLangOptions struct {
	Backend string
	// RequestRate and MaxConcurrency as configured; 0 if not set (rate: unlimited).
	RequestRate    float64
	MaxConcurrency int
	// Trace is set if requests were sent at the times of a trace.
	Trace bool
}

// sglangSamples are a run's observations by the definitions of sglang.benchmark.serving 0.5.23, in
// milliseconds, ascending. There a latency ends with the last byte of the answer, [DONE] included, and the
// native endpoint's gaps count once per token. Its client opens a connection for each request and ignores
// events of empty text; this one reuses connections and counts those events.
type sglangSamples struct{ e2e, ttft, tpot, itl []float64 }

func collectSGLang(run record.Run, native bool) (s sglangSamples) {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	all := record.Collect(run)
	for _, r := range run.Requests.All() {
		if r.Failure != "" || len(r.Events) == 0 {
			continue
		}
		s.e2e = append(s.e2e, ms(r.Done-r.Sent))
		first := r.First()
		if first.Tokens == 0 {
			continue
		}
		s.ttft = append(s.ttft, ms(first.At-r.Sent))
		if r.OutputTokens > 1 {
			s.tpot = append(s.tpot, ms(r.Done-first.At)/float64(r.OutputTokens-1))
		}
	}
	gaps := all.ITL
	if native && all.ITLToken != nil {
		gaps = all.ITLToken
	}
	for _, g := range gaps {
		s.itl = append(s.itl, 1e3*g)
	}
	for _, v := range [][]float64{s.e2e, s.ttft, s.tpot, s.itl} {
		slices.Sort(v)
	}
	return s
}

// WriteSGLangBlock prints the result block of `python -m sglang.bench_serving` 0.5.23, exact to the space. It
// leaves out the retokenized count of tokens, which is not measured. The peak of concurrent requests is
// exact.
func WriteSGLangBlock(w io.Writer, run record.Run, opt SGLangOptions) error {
	var b bytes.Buffer
	b.WriteByte('\n')
	rule(&b, " Serving Benchmark Result ", '=')
	sum, s := summarize(run), collectSGLang(run, opt.Backend == "sglang")
	opt.writeSummary(&b, sum, s)
	writeAttainment(&b, run, sum)
	sglangGroup(&b, "End-to-End Latency", "E2E Latency", s.e2e)
	if !sum.embeddings {
		sglangGroup(&b, "Time to First Token", "TTFT", s.ttft)
		sglangGroup(&b, "Time per Output Token (excl. 1st token)", "TPOT", s.tpot)
		sglangGroup(&b, "Inter-Token Latency", "ITL", s.itl)
		rowFloat(&b, "Max ITL (ms):", record.Quantile(orZero(s.itl), 1))
	}
	b.WriteString(strings.Repeat("=", 50) + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (o SGLangOptions) writeSummary(b *bytes.Buffer, sum vllmSummary, s sglangSamples) {
	rate, users := "inf", "not set"
	switch {
	case o.Trace:
		rate = "trace"
	case o.RequestRate > 0:
		rate = pythonFloat(o.RequestRate)
	}
	if o.MaxConcurrency > 0 {
		users = strconv.Itoa(o.MaxConcurrency)
	}
	rowText(b, "Backend:", o.Backend)
	rowText(b, "Traffic request rate:", rate)
	rowText(b, "Max request concurrency:", users)
	rowInt(b, "Successful requests:", sum.Succeeded)
	rowFloat(b, "Benchmark duration (s):", sum.seconds)
	rowInt(b, "Total input tokens:", sum.InputTokens)
	rowInt(b, "Total input text tokens:", sum.InputTokens)
	if !sum.embeddings {
		rowInt(b, "Total generated tokens:", sum.OutputTokens)
	}
	rowFloat(b, "Request throughput (req/s):", sum.perSecond(sum.Succeeded))
	rowFloat(b, "Input token throughput (tok/s):", sum.perSecond(sum.InputTokens))
	if !sum.embeddings {
		rowFloat(b, "Output token throughput (tok/s):", sum.perSecond(sum.OutputTokens))
		rowFloat(b, "Peak output token throughput (tok/s):", sum.peakTokens)
	}
	rowInt(b, "Peak concurrent requests:", sum.peakConcurrentSuccess)
	if !sum.embeddings {
		rowFloat(b, "Total token throughput (tok/s):", sum.perSecond(sum.InputTokens+sum.OutputTokens))
	}
	busy := 0.0
	for _, v := range s.e2e {
		busy += v / 1e3
	}
	if sum.seconds > 0 {
		busy /= sum.seconds
	}
	rowFloat(b, "Concurrency:", busy)
}

// writeAttainment writes SGLang's section of a run with limits: good requests, and for each limit the share
// of all requests within it.
func writeAttainment(b *bytes.Buffer, run record.Run, sum vllmSummary) {
	if sum.goodput == nil {
		return
	}
	type limit struct {
		name string
		only steps.Goodput
		at   time.Duration
	}
	var set []limit
	g := run.Goodput
	for _, l := range []limit{
		{"ttft", steps.Goodput{TTFT: g.TTFT}, g.TTFT}, {"tpot", steps.Goodput{TPOT: g.TPOT}, g.TPOT},
		{"e2el", steps.Goodput{E2EL: g.E2EL}, g.E2EL},
	} {
		if l.at > 0 {
			set = append(set, l)
		}
	}
	words := make([]string, len(set))
	for i, l := range set {
		words[i] = l.name + ":" + strconv.FormatFloat(float64(l.at)/1e6, 'g', 6, 64)
	}
	percent := func(limits steps.Goodput) float64 {
		run.Goodput = limits
		return 100 * float64(record.Good(run)) / float64(max(sum.Requests, 1))
	}
	rule(b, "Goodput", '-')
	rowText(b, "SLOs (ms):", strings.Join(words, " "))
	rowFloat(b, "Request goodput (req/s):", *sum.goodput)
	rowFloat(b, "SLO attainment (%):", percent(g))
	for _, l := range set {
		rowFloat(b, strings.ToUpper(l.name)+" SLO attainment (%):", percent(l.only))
	}
}

// sglangGroup writes one latency section. As in SGLang missing data reads 0.
func sglangGroup(b *bytes.Buffer, header, name string, asc []float64) {
	asc = orZero(asc)
	rule(b, header, '-')
	rowFloat(b, "Mean "+name+" (ms):", record.Mean(asc))
	rowFloat(b, "Median "+name+" (ms):", record.Quantile(asc, 0.5))
	for _, p := range []float64{90, 95, 99} {
		rowFloat(b, fmt.Sprintf("P%g %s (ms):", p, name), record.Quantile(asc, p/100))
	}
}

func orZero(v []float64) []float64 {
	if len(v) == 0 {
		return []float64{0}
	}
	return v
}

func rowText(b *bytes.Buffer, label, v string) { fmt.Fprintf(b, "%-40s %-10s\n", label, v) }

// pythonFloat formats a number as Python's str does: 4.0, 0.25.
func pythonFloat(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
