package session_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/vllm"
)

// sideBySide is a file whose repeats run on nodes of their own: two sides, two rates, and
// 20 comparisons that can fail.
const sideBySide = `
pipeline {
  slurm {
    nodes        = %d
    side_by_side = true
  }
}

server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = ["vllm"]
  model      = "m"
}

dataset "random" "short" {
  input_len  = 128
  output_len = 32
}

benchmark "b" {
  matrix {
    side = ["base", "head"]
    rate = [2, 4]
  }
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short
  load {
    rate     = matrix.rate
    requests = 1000
  }
  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics = [
    metric.ttft.p50, metric.ttft.p90, metric.ttft.p99, metric.ttft.mean, metric.tpot.p50,
    metric.tpot.p99, metric.itl.p50, metric.itl.p99, metric.e2el.p50, metric.e2el.p99,
  ]
  margin = %q
}
`

func planSideBySide(t *testing.T, nodes int, margin string) *plan.Plan {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(fmt.Sprintf(sideBySide, nodes, margin)), Registry: registry,
		Env: func() []string { return nil },
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := plan.Build(cfg.Config, plan.Options{File: "f.hcl"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return p
}

// spreads of one simulated file, as standard deviations of logarithms: between nodes,
// between launches and between runs of one launch.
const (
	nodeSpread   = 0.05
	launchSpread = 0.012
	runSpread    = 0.008
)

// nodesOfAFile plays a session of two equal sides. Every node has an effect of its own on
// every metric, which lasts. Where says on which node a target of a repeat runs, and tell
// what the result says of it.
type nodesOfAFile struct {
	plan  *plan.Plan
	where func(rep plan.Repeat, target string) int
	tell  func(node int) string
}

func (f nodesOfAFile) play(t *testing.T, seed int) *result.Document {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 11))
	effects := map[string]float64{}
	effect := func(node int, metric string) float64 {
		key := fmt.Sprint(node, metric)
		if _, drawn := effects[key]; !drawn {
			effects[key] = nodeSpread * rng.NormFloat64()
		}
		return effects[key]
	}
	out := &engine.Outcome{Plan: f.plan, Status: result.StatusComplete}
	opt := judge.OptionsOf(f.plan, nil)
	for _, round := range f.plan.Rounds() {
		for _, rep := range round {
			for _, l := range rep.Launches {
				node := f.where(rep, l.Target)
				out.Launched = append(out.Launched, f.launch(rep, l, node, rng, effect))
			}
			out.RepeatsDone++
		}
		if !slices.ContainsFunc(round, func(rep plan.Repeat) bool { return slices.Contains(f.plan.Looks, rep.Index) }) {
			continue
		}
		look, err := judge.TakeLook(f.plan, out.Document(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if look.Stop {
			break
		}
	}
	doc := out.Document()
	if err := judge.Judge(f.plan, doc, opt); err != nil {
		t.Fatal(err)
	}
	return doc
}

func (f nodesOfAFile) launch(rep plan.Repeat, l plan.Launch, node int, rng *rand.Rand, effect func(int, string) float64) engine.Launched {
	launched := engine.Launched{ID: l.ID, Repeat: rep.Index, Target: l.Target}
	ofLaunch := map[string]float64{}
	for _, run := range l.Runs {
		values := map[string]float64{}
		for _, id := range f.plan.Gates[0].Metrics {
			if _, drawn := ofLaunch[id]; !drawn {
				ofLaunch[id] = launchSpread * rng.NormFloat64()
			}
			values[id] = 0.1 * math.Exp(effect(node, id)+ofLaunch[id]+runSpread*rng.NormFloat64())
		}
		launched.Runs = append(launched.Runs, engine.CellRun{Cell: run.Cell, Run: result.Run{
			Repeat: rep.Index, Launch: l.ID, Status: result.RunOK, Sent: 1000, Metrics: values, Nodes: f.tell(node),
		}})
	}
	return launched
}

// TestEqualSidesSideBySide: over 500 files (with -full, a tenth of them otherwise) whose nodes differ by 5 %, the real schedule
// pairs sides on one node, and no more of them than alpha are called a regression. A margin
// of 0.1 % leaves that to the significance alone.
func TestEqualSidesSideBySide(t *testing.T) {
	for _, tt := range []struct {
		nodes         int
		margin        string
		files         int
		alarms, green int // at most, at least
	}{
		{2, "5%", 500, 5, 490},
		{3, "5%", 50, 1, 49},
		{4, "5%", 50, 1, 49},
		{2, "0.1%", 200, 20, 0}, // 10 are 5 %, and more than 20 come by chance in 1 of 1,000 tests
	} {
		if !*full {
			tt.files, tt.alarms, tt.green = tt.files/10, (tt.alarms+4)/5, tt.green/10-1
		}
		p := planSideBySide(t, tt.nodes, tt.margin)
		if p.Cluster.Lanes != tt.nodes || p.FamilySize < 20 {
			t.Fatalf("%d lanes and a family of %d", p.Cluster.Lanes, p.FamilySize)
		}
		f := nodesOfAFile{
			p, func(rep plan.Repeat, _ string) int { return rep.Lane },
			func(node int) string { return fmt.Sprintf("n%d", node) },
		}
		alarms, green, repeats := 0, 0, 0
		for seed := range tt.files {
			doc := f.play(t, seed)
			repeats += doc.RepeatsDone
			switch doc.Verdict {
			case result.Regression:
				alarms++
			case result.Pass, result.Improvement:
				green++
			case result.Inconclusive:
			default:
				t.Fatalf("file %d is %s", seed, doc.Verdict)
			}
		}
		t.Logf("%d nodes, margin %s: %d of %d equal files are called a regression, %d pass, after %.1f repeats on average",
			tt.nodes, tt.margin, alarms, tt.files, green, float64(repeats)/float64(tt.files))
		if alarms > tt.alarms {
			t.Errorf("%d of %d equal files are called a regression, more than alpha allows", alarms, tt.files)
		}
		if green < tt.green {
			t.Errorf("only %d of %d equal files pass: what differs between nodes has got into the pairs", green, tt.files)
		}
	}
}

// TestSidesOnDifferentNodes: what the schedule avoids would be called a regression all the
// time, and is refused by the judge that knows of it.
func TestSidesOnDifferentNodes(t *testing.T) {
	p := planSideBySide(t, 2, "5%")
	apart := func(_ plan.Repeat, target string) int {
		if strings.Contains(target, "head") {
			return 1
		}
		return 0
	}
	alarms := 0
	const files = 10 // enough for a rate of nearly all
	for seed := range files {
		if (nodesOfAFile{p, apart, func(int) string { return "" }}).play(t, seed).Verdict == result.Regression {
			alarms++
		}
	}
	if alarms < files/2 {
		t.Errorf("%d of %d files with their sides apart are called a regression: the simulation has no effect of nodes", alarms, files)
	}
	doc := nodesOfAFile{p, apart, func(node int) string { return fmt.Sprintf("n%d", node) }}.play(t, 1)
	if doc.Verdict != result.Invalid || !strings.Contains(doc.Gates[0].Decisions[0].Reason, "in repeat 1: nodes: base n0, head n1") {
		t.Errorf("%s: %s", doc.Verdict, doc.Gates[0].Decisions[0].Reason)
	}
}
