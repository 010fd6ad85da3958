package reports_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"gonum.org/v1/gonum/stat/distuv"
)

// fixtures are the documents of the golden files: one for each thing that a reader can
// meet. They are built, not read, so that a change of the schema changes them.
func fixtures() map[string]*result.Document {
	return map[string]*result.Document{
		"regression":     regression(),
		"pass":           passing(),
		"inconclusive":   inconclusive(),
		"head-dead":      headDead(),
		"infrastructure": infrastructure(),
		"interrupted":    interrupted(),
		"simulated":      simulated(),
		"no-gates":       noGates(),
		"sides":          severalSides(),
		"answers":        answersDiffer(),
		"hostile":        hostile(),
	}
}

// session is what one builder needs to know of a document.
type session struct {
	doc     *result.Document
	repeats int
}

// newSession has two builds of one server, a benchmark over rates, and no gates yet. The
// head's latencies are those of the base times factor(rate, metric id).
func newSession(repeats int, factor func(rate, id string) float64) *session {
	start := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	doc := &result.Document{
		Schema: result.Schema, Tool: "pipeline 0.1.0 (1a2b3c4)", RunID: "20261120-093000-7f3a", File: "perf/gate.hcl",
		Started: start, Ended: start.Add(38*time.Minute + 12*time.Second), Status: result.StatusComplete,
		Alpha: 0.05, Seed: 7, RepeatsPlanned: repeats, RepeatsDone: repeats, TimeScale: 1,
		Machine: map[string]string{
			"gpu": "NVIDIA H200", "gpus": "1", "gpu_driver": "580.65.06", "cpu": "AMD EPYC 9654", "cores": "96", "kernel": "6.8.0-45",
		},
	}
	s := &session{doc: doc, repeats: repeats}
	for _, build := range []string{"base", "head"} {
		argv := []string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--port", "8000", "--max-num-seqs", "256"}
		if build == "head" {
			argv = append(argv, "--enable-chunked-prefill")
		}
		doc.Targets = append(doc.Targets, result.Target{
			Addr: target(build), Engine: "vllm", Model: "Qwen/Qwen2.5-7B-Instruct", Argv: argv,
			Describe: map[string]string{"version": "0.33.0", "max_model_len": "32768"},
			Range:    result.Range{File: "perf/gate.hcl", Line: 9, Col: 1, EndLine: 18},
		})
		for r := 1; r <= repeats; r++ {
			doc.Launches = append(doc.Launches, result.Launch{
				ID: launch(r, build), Repeat: r, Target: target(build), Attempt: 1,
				Startup: 41 + noise(r, build), Log: fmt.Sprintf("logs/r%d-%s.log", r, build),
			})
		}
	}
	doc.Sides = []result.Sides{{
		Baseline: "baseline.paired.merge_base", Axis: "build", Base: "base", Head: "head", BaseTarget: target("base"), HeadTarget: target("head"),
		Differences: []result.SideDifference{
			{What: "image", Base: "vllm/vllm-openai:v0.10.2", Head: "vllm/vllm-openai:v0.11.0"},
			{What: "args.enable_chunked_prefill", Head: "true"},
		},
	}}
	b := result.Benchmark{
		Addr: "benchmark.chat", Description: "short chats", Axes: []string{"build", "rate"},
		Range: result.Range{File: "perf/gate.hcl", Line: 20, Col: 1, EndLine: 34},
	}
	for _, build := range []string{"base", "head"} {
		for _, rate := range []string{"4", "16"} {
			b.Cells = append(b.Cells, s.cell(build, rate, factor))
		}
	}
	doc.Benchmarks = []result.Benchmark{b}
	return s
}

func target(build string) string { return fmt.Sprintf("server.vllm.sut[%q]", build) }

func launch(repeat int, build string) string {
	return fmt.Sprintf("r%d-%s", repeat, target(build))
}

// noise is a reproducible number in ±1 that differs between its arguments.
func noise(args ...any) float64 {
	h := uint32(2166136261)
	for _, c := range fmt.Sprint(args...) {
		h = (h ^ uint32(c)) * 16777619
	}
	h ^= h >> 15
	h *= 2246822519
	h ^= h >> 13
	return 2*float64(h)/math.MaxUint32 - 1
}

// typical values at 4 requests per second.
var typical = map[string]float64{
	"ttft.p50": 0.0482, "ttft.p99": 0.4117, "tpot.p50": 0.01234, "itl.p99": 0.0187, "e2el.p50": 1.612,
	"request_throughput.mean": 3.98, "output_throughput.mean": 508.4,
}

func (s *session) cell(build, rate string, factor func(rate, id string) float64) result.Cell {
	c := result.Cell{
		Hash:   fmt.Sprintf("%08x", uint32(0x5eed0000+len(build)*1000+len(rate)*77+int(build[0]))),
		Values: []result.AxisValue{{Name: "build", Value: build}, {Name: "rate", Value: rate}},
		Target: target(build), Workload: "poisson, 1,000 requests, random 1024→128",
		Summary: map[string]float64{"success.rate": 1},
	}
	logs := map[string]float64{}
	for r := 1; r <= s.repeats; r++ {
		run := result.Run{
			Repeat: r, Launch: launch(r, build), Status: result.RunOK, Duration: 251.2, Sent: 1000,
			Metrics: map[string]float64{"success.rate": 1},
			Audit:   map[string]any{"clock": "kernel", "lag_p99_s": 0.00041 + 1e-5*noise(r, build, rate), "coalesced_reads": 12.0},
			Records: fmt.Sprintf("records/r%d-%s-%s.jsonl.gz", r, build, rate),
		}
		for id, v := range typical {
			if rate == "16" && strings.HasPrefix(id, "ttft") {
				v *= 1.7
			}
			if build == "head" {
				v *= factor(rate, id)
			}
			v *= math.Exp(0.02*noise(r, rate, id) + 0.012*noise(r, build, rate, id))
			run.Metrics[id] = v
			logs[id] += math.Log(v)
		}
		c.Runs = append(c.Runs, run)
	}
	for id, sum := range logs {
		c.Summary[id] = math.Exp(sum / float64(s.repeats))
	}
	return c
}

func same(string, string) float64 { return 1 }

// gate adds a paired gate over the metrics of all rates, with a success comparison.
func (s *session) gate(name string, ids ...string) *result.Gate {
	s.doc.Gates = append(s.doc.Gates, result.Gate{
		Addr: "gate." + name, Benchmark: "benchmark.chat", Baseline: "baseline.paired.merge_base", BaselineKind: "paired",
		Terms:   gates.Terms{Claim: gates.Claim{Margin: 0.05}, Rule: gates.Rule{TestName: "paired_t"}},
		Actions: result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
		Range:   result.Range{File: "perf/gate.hcl", Line: 41 + 9*len(s.doc.Gates), Col: 1, EndLine: 48 + 9*len(s.doc.Gates)},
	})
	g := &s.doc.Gates[len(s.doc.Gates)-1]
	cells := s.doc.Benchmarks[0].Cells
	for i := range 2 {
		base, head := cells[i], cells[i+2]
		for _, id := range ids {
			g.Decisions = append(g.Decisions, decide(g, base, head, id))
		}
		one := 1.0
		g.Decisions = append(g.Decisions, result.Decision{
			ID: g.Addr + "/" + head.Hash + "/success", Kind: result.KindSuccess, Cell: head.Hash, BaseCell: base.Hash,
			Values: head.Values[1:], Head: "head", Base: "base", Metric: "success.rate", Label: "success rate", Unit: "fraction",
			Direction: "higher", Scale: "proportion", Verdict: result.Pass, N: len(base.Runs), BaseValue: &one, HeadValue: &one, Change: new(0.0),
			P: &one, PHolm: &one,
		})
	}
	s.close()
	return g
}

// decide applies the rules of a paired gate without a correction; it is here so that the
// figures of the golden files fit together.
func decide(g *result.Gate, base, head result.Cell, id string) result.Decision {
	m, _ := metric.Lookup(id)
	d := result.Decision{
		ID: g.Addr + "/" + head.Hash + "/" + id, Kind: result.KindMetric, Cell: head.Hash, BaseCell: base.Hash,
		Values: head.Values[1:], Head: "head", Base: "base", Metric: id, Label: m.Label, Unit: string(m.Unit),
		Direction: m.Direction, Scale: m.Scale, Margin: g.Margin, N: len(base.Runs),
		BaseValue: new(base.Summary[id]), HeadValue: new(head.Summary[id]), Change: new(head.Summary[id]/base.Summary[id] - 1),
	}
	n := float64(d.N)
	mean := math.Log1p(*d.Change)
	squares := 0.0
	for i, r := range base.Runs {
		d.Pairs = append(d.Pairs, result.Pair{Repeat: r.Repeat, Base: r.Metrics[id], Head: head.Runs[i].Metrics[id]})
		x := math.Log(head.Runs[i].Metrics[id]/r.Metrics[id]) - mean
		squares += x * x
	}
	se := math.Sqrt(squares / (n - 1) / n)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}
	sign := 1.0
	if m.Direction == metric.HigherIsBetter {
		sign = -1
	}
	p := t.Survival(sign * mean / se)
	holm := min(1, 4*p)
	q := t.Quantile(0.95) * se
	lower, upper := math.Expm1(mean-q), math.Expm1(mean+q)
	d.P, d.PHolm, d.Lower, d.Upper = &p, &holm, &lower, &upper
	margin := g.Margin.On(metric.Log)
	switch {
	case holm <= 0.05 && sign*mean >= margin:
		d.Verdict = result.Regression
	case sign*mean+q < margin && sign*mean+q < 0 && 1-p <= 0.0125 && sign*mean <= -margin:
		d.Verdict = result.Improvement
	case sign*mean+q < margin:
		d.Verdict = result.Pass
	default:
		d.Verdict, d.NeedPairs = result.Inconclusive, d.N+3
	}
	return d
}

// close fills in what follows from the gates.
func (s *session) close() *result.Document {
	s.doc.FamilySize = 0
	for i := range s.doc.Gates {
		g := &s.doc.Gates[i]
		verdicts := []result.Verdict{}
		for _, d := range g.Decisions {
			verdicts = append(verdicts, d.Verdict)
			s.doc.FamilySize++
		}
		g.Verdict = result.Worst(verdicts...)
	}
	s.doc.Verdict = result.Overall(s.doc.Gates)
	s.doc.ExitCode = result.Exit(s.doc)
	return s.doc
}

func regression() *result.Document {
	s := newSession(6, func(rate, id string) float64 {
		switch {
		case id == "ttft.p99" && rate == "16":
			return 1.142
		case id == "ttft.p99":
			return 1.09
		case id == "e2el.p50":
			return 0.92
		}
		return 1
	})
	s.doc.Title = "Chunked prefill on, against the merge base"
	s.gate("latency", "ttft.p99", "ttft.p50", "e2el.p50")
	s.gate("steady", "tpot.p50")
	s.doc.Warnings = []string{"one launch took 12 s longer to start than the others of its side"}
	s.doc.Benchmarks[0].Cells[1].Runs[2].Status = result.RunVoid
	s.doc.Benchmarks[0].Cells[1].Runs[2].Reason = "the client lagged: p99 of the sends was 31 ms late"
	return s.close()
}

// limitOfFixture is what a gate of the passing session promises, in seconds.
var limitOfFixture = 1.0

func passing() *result.Document {
	s := newSession(4, same)
	s.gate("latency", "ttft.p99", "ttft.p50")
	limit := s.doc.Benchmarks[0].Cells[3]
	s.doc.Gates = append(s.doc.Gates, result.Gate{
		Addr: "gate.slo", Description: "what we promised", Benchmark: "benchmark.chat",
		Actions: result.Actions{OnRegression: "fail", OnInconclusive: "warn", OnMissing: "fail", OnInvalid: "fail"},
		Range:   result.Range{File: "perf/gate.hcl", Line: 60, Col: 1},
		Decisions: []result.Decision{{
			ID: "gate.slo/0", Kind: result.KindAssert, Cell: limit.Hash, Values: limit.Values, Metric: "ttft.p99", Label: "TTFT p99", Unit: "s",
			Direction: "lower", Scale: "log", Verdict: result.Pass, N: 4, HeadValue: new(limit.Summary["ttft.p99"]),
			Limit: &limitOfFixture, LimitOp: "<",
		}},
	})
	return s.close()
}

func inconclusive() *result.Document {
	s := newSession(2, func(_, id string) float64 {
		if id == "ttft.p99" {
			return 1.03
		}
		return 1
	})
	g := s.gate("latency", "ttft.p99", "itl.p99")
	for i := range g.Decisions {
		if d := &g.Decisions[i]; d.Verdict == result.Pass && d.Kind == result.KindMetric {
			d.Verdict, d.NeedPairs = result.Inconclusive, 4
		}
	}
	g.OnInconclusive = "fail"
	return s.close()
}

// silence removes what was measured on a side from a repeat on.
func (s *session) silence(build string, failure result.Failure) {
	for i := range s.doc.Launches {
		if l := &s.doc.Launches[i]; l.Target == target(build) {
			f := failure
			l.Failure, l.Startup = &f, 0
		}
	}
	for i := range s.doc.Benchmarks[0].Cells {
		c := &s.doc.Benchmarks[0].Cells[i]
		if c.Target != target(build) {
			continue
		}
		c.Summary = nil
		for j := range c.Runs {
			r := &c.Runs[j]
			*r = result.Run{Repeat: r.Repeat, Launch: r.Launch, Status: result.RunFailed, Reason: "the server did not become ready"}
		}
	}
}

// outOfMemory is what vLLM 0.33 prints when the KV cache does not fit.
func outOfMemory() result.Failure {
	return result.Failure{
		Phase: "ready", Class: "kv_cache_too_small", Exit: "1",
		Evidence: "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
		LogTail: []string{
			"(EngineCore_DP0 pid=271) INFO 11-20 09:31:12 [gpu_model_runner.py:2338] Starting to load model Qwen/Qwen2.5-7B-Instruct...",
			"(EngineCore_DP0 pid=271) INFO 11-20 09:31:44 [gpu_worker.py:298] Available KV cache memory: -1.21 GiB",
			"(EngineCore_DP0 pid=271) ERROR 11-20 09:31:44 [core.py:718] ValueError: No available memory for the cache blocks. Try increasing " +
				"`gpu_memory_utilization` when initializing the engine.",
			"(APIServer pid=158) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
		},
		Range: result.Range{File: "perf/gate.hcl", Line: 9, Col: 1, EndLine: 18},
	}
}

func headDead() *result.Document {
	s := newSession(2, same)
	g := s.gate("latency", "ttft.p99")
	s.silence("head", outOfMemory())
	for i := range g.Decisions {
		d := &g.Decisions[i]
		d.N, d.HeadValue, d.Change, d.P, d.PHolm, d.Lower, d.Upper, d.Pairs, d.NeedPairs = 0, nil, nil, nil, nil, nil, nil, nil, 0
		if d.Kind == result.KindSuccess {
			d.Verdict, d.Reason = result.Regression, "the head's server failed in 2 of 2 launches, the base's in none"
		} else {
			d.Verdict, d.Reason = result.Missing, "no valid run of the head"
		}
	}
	return s.close()
}

func infrastructure() *result.Document {
	s := newSession(2, same)
	g := s.gate("latency", "ttft.p99")
	lost := result.Failure{
		Phase: "start", Class: "gpu_lost", Exit: "137", Evidence: "NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.",
		Range: result.Range{File: "perf/gate.hcl", Line: 9, Col: 1},
	}
	s.silence("base", lost)
	s.silence("head", lost)
	for i := range g.Decisions {
		d := &g.Decisions[i]
		d.N, d.BaseValue, d.HeadValue, d.Change, d.P, d.PHolm, d.Lower, d.Upper, d.Pairs, d.NeedPairs = 0, nil, nil, nil, nil,
			nil, nil, nil, nil, 0
		d.Verdict, d.Reason, d.Infrastructure = result.Invalid, "base fails too", true
	}
	s.doc.Status, s.doc.StatusReason = result.StatusFailed, "every target failed in its first two launches"
	return s.close()
}

func interrupted() *result.Document {
	s := newSession(6, same)
	g := s.gate("latency", "ttft.p99")
	for i := range s.doc.Benchmarks[0].Cells {
		c := &s.doc.Benchmarks[0].Cells[i]
		c.Runs = c.Runs[:1]
		c.Runs[0].Status, c.Runs[0].Reason = result.RunCancelled, "interrupted"
	}
	for i := range g.Decisions {
		d := &g.Decisions[i]
		d.N, d.BaseValue, d.HeadValue, d.Change, d.P, d.PHolm, d.Lower, d.Upper, d.Pairs = 0, nil, nil, nil, nil, nil, nil, nil, nil
		d.Verdict, d.Reason = result.Missing, "no pair was finished"
	}
	s.doc.Launches = s.doc.Launches[:1]
	for i := range s.doc.Benchmarks[0].Cells {
		s.doc.Benchmarks[0].Cells[i].Runs[0].Launch = s.doc.Launches[0].ID
		s.doc.Benchmarks[0].Cells[i].Summary = nil
	}
	s.doc.RepeatsDone, s.doc.Status, s.doc.StatusReason = 0, result.StatusInterrupted, "SIGINT"
	s.doc.Ended = s.doc.Started.Add(95 * time.Second)
	return s.close()
}

func simulated() *result.Document {
	doc := passing()
	doc.Simulated, doc.TimeScale = "process", 20
	doc.Machine = map[string]string{"cpu": "AMD EPYC 7B13", "cores": "2"}
	return doc
}

func noGates() *result.Document {
	s := newSession(1, same)
	return s.close()
}

// severalSides compares TCP and RDMA with one server, and judges a difference.
func severalSides() *result.Document {
	s := newSession(4, same)
	g := s.gate("transport", "ttft.p99")
	g.Decisions = g.Decisions[:2]
	lower, upper, p := -0.0004, 0.0021, 0.21
	d := g.Decisions[0]
	d.ID, d.Metric, d.Label, d.Scale, d.Margin = d.ID+"/queue", "queue.mean", "Client queue mean", "difference", 0.005
	d.BaseValue, d.HeadValue, d.Change, d.Lower, d.Upper, d.P, d.PHolm = new(0.0101), new(0.0109), new(0.0008), &lower, &upper, &p, &p
	d.Base, d.Head, d.Verdict = "tcp", "rdma", result.Pass
	g.Decisions = append(g.Decisions, d)
	failed := d
	failed.ID, failed.Kind, failed.Metric, failed.Label, failed.Unit, failed.Scale, failed.Direction = d.ID+"/ok", result.KindSuccess,
		"success.rate", "success rate", "fraction", "proportion", "higher"
	failed.BaseValue, failed.HeadValue, failed.Change, failed.Margin, failed.Lower, failed.Upper = new(1.0), new(0.9715),
		new(-0.0285), 0, nil, nil
	failed.Verdict, failed.Reason = result.Regression, "114 of 4,000 requests failed, none of the base's"
	g.Decisions = append(g.Decisions, failed)
	g.OnRegression = "warn"
	runs := s.doc.Benchmarks[0].Cells[2].Runs
	for i := range runs {
		runs[i].Failed, runs[i].Failures = 28+i, map[string]int{"status": 20, "cut": 8 + i}
	}
	s.doc.Benchmarks[0].Cells[3].Runs[1].Overloaded = true
	return s.close()
}
