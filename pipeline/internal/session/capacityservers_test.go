package session_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/capacity"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// operated is a server of the simulator with its work and its limits.
type operated struct {
	label, profile string
	args           []steps.Arg
	input, output  [2]int
	slo            []steps.Objective
	about          float64 // a load within a factor of 8 of its capacity
}

// heldOut are the simulated servers of gates/testdata/capacity_held_out.json, on which nothing but one constant was
// settled, and unseen those of capacity_unseen.json: the list was made, and committed, before any search of them.
var heldOut = []operated{
	{"chunked prefill, p99 of TTFT within 300 ms", "fast", []steps.Arg{{Name: "enable_chunked_prefill", Value: true}},
		[2]int{512, 512}, [2]int{32, 32},
		[]steps.Objective{{Metric: "ttft.p99", Limit: 0.3}}, 30},
	{"prompts of 100 to 2,000 tokens, median TPOT within 15 ms", "fast", []steps.Arg{{Name: "enable_chunked_prefill", Value: true}},
		[2]int{100, 2000}, [2]int{20, 100},
		[]steps.Objective{{Metric: "tpot.p50", Limit: 0.015}}, 12},
	{"whole prompts of 400 tokens on an A10, p95 of TTFT within 2 s", "a10", []steps.Arg{{Name: "enable_chunked_prefill", Value: false}},
		[2]int{300, 500}, [2]int{24, 24},
		[]steps.Objective{{Metric: "ttft.p95", Limit: 2}}, 6},
	{"32 seats, median of E2EL within 1 s", "fast", []steps.Arg{{Name: "max_num_seqs", Value: 32}}, [2]int{256, 256}, [2]int{10, 60},
		[]steps.Objective{{Metric: "e2el.p50", Limit: 1}}, 80},
	{"an H100, mean of ITL within 30 ms and p90 of TTFT within 1 s", "h100", nil, [2]int{200, 1500}, [2]int{50, 200},
		[]steps.Objective{{Metric: "itl.mean", Limit: 0.03}, {Metric: "ttft.p90", Limit: 1}}, 10},
}

var unseen = []operated{
	{"prompts of 3,000 to 5,000 tokens on an H100, p95 of TTFT within 2 s", "h100",
		[]steps.Arg{{Name: "enable_chunked_prefill", Value: true}}, [2]int{3000, 5000}, [2]int{16, 16},
		[]steps.Objective{{Metric: "ttft.p95", Limit: 2}}, 6},
	{"answers of 200 to 400 tokens on an A10, p90 of TPOT within 60 ms", "a10", nil, [2]int{100, 300}, [2]int{200, 400},
		[]steps.Objective{{Metric: "tpot.p90", Limit: 0.06}}, 2},
	{"16 seats, p99 of E2EL within 3 s", "fast", []steps.Arg{{Name: "max_num_seqs", Value: 16}}, [2]int{128, 512}, [2]int{20, 80},
		[]steps.Objective{{Metric: "e2el.p99", Limit: 3}}, 40},
	{"median of TTFT within 100 ms and p99 of ITL within 50 ms", "fast", []steps.Arg{{Name: "enable_chunked_prefill", Value: true}},
		[2]int{256, 1024}, [2]int{40, 120},
		[]steps.Objective{{Metric: "ttft.p50", Limit: 0.1}, {Metric: "itl.p99", Limit: 0.05}}, 15},
	{"an H100 with 64 seats, mean of TTFT within 200 ms", "h100", []steps.Arg{{Name: "max_num_seqs", Value: 64}},
		[2]int{500, 500}, [2]int{100, 100},
		[]steps.Objective{{Metric: "ttft.mean", Limit: 0.2}}, 15},
}

// drawnServers are the sets that TestServersOfCapacities draws, by the files of gates/testdata.
var drawnServers = map[string][]operated{"capacity_held_out.json": heldOut, "capacity_unseen.json": unseen}

// around are the logarithms of load over capacity at which a server is drawn.
var around = []float64{-0.8, -0.4, -0.25, -0.16, -0.1, -0.06, -0.03, 0, 0.03, 0.06, 0.1, 0.16, 0.25, 0.4}

// headrooms are those of a server at loads around its capacity.
type headrooms struct {
	Label    string    `json:"server"`
	Capacity float64   `json:"capacity,omitempty"`
	U        []float64 `json:"ln_load"`
	Headroom []float64 `json:"headroom"`
	SD       []float64 `json:"sd"`
}

// TestServersOfCapacities draws the headrooms of servers on which nothing was tuned, 40 draws of 1,000
// requests at each load.
//
//	go test ./pipeline/internal/session -run ServersOfCapacities -full -v -update
func TestServersOfCapacities(t *testing.T) {
	if !*full || !golden.Updating() {
		t.Skip("with -full -update: it draws files of gates/testdata")
	}
	for name, servers := range drawnServers {
		t.Run(name, func(t *testing.T) { drawServers(t, "../../../gates/testdata/"+name, servers) })
	}
}

// drawServers draws the simulated servers of a file, and leaves those that are made up as they are.
func drawServers(t *testing.T, path string, servers []operated) {
	t.Helper()
	var out []headrooms
	for _, o := range servers {
		h := o.headrooms(t)
		t.Logf("%s, %.4g req/s: %.3g, SD %.3g", h.Label, h.Capacity, h.Headroom, h.SD)
		out = append(out, h)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []headrooms
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if h.Capacity == 0 { // made up
			out = append(out, h)
		}
	}
	if err := os.WriteFile(path, oneLineEach(t, out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// oneLineEach is JSON with a line for each list of numbers.
func oneLineEach(t *testing.T, all []headrooms) []byte {
	t.Helper()
	line := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), ",", ", ")
	}
	var servers []string
	for _, h := range all {
		label, err := json.Marshal(h.Label)
		if err != nil {
			t.Fatal(err)
		}
		capacity := ""
		if h.Capacity > 0 {
			capacity = fmt.Sprintf("    \"capacity\": %s,\n", line(h.Capacity))
		}
		servers = append(servers, fmt.Sprintf("  {\n    \"server\": %s,\n%s    \"ln_load\": %s,\n    \"headroom\": %s,\n    \"sd\": %s\n  }",
			label, capacity, line(h.U), line(h.Headroom), line(h.SD)))
	}
	return []byte("[\n" + strings.Join(servers, ",\n") + "\n]\n")
}

// headrooms finds the load at which the mean headroom is 0 by bisection, and draws around it.
func (o operated) headrooms(t *testing.T) headrooms {
	t.Helper()
	low, high := math.Log(o.about/8), math.Log(o.about*8)
	for range 9 {
		third := (high - low) / 3
		a, b := o.draw(t, low+third, low+2*third, 6)
		switch {
		case stat.Mean(a, nil) < 0:
			high = low + third
		case stat.Mean(b, nil) < 0:
			low, high = low+third, low+2*third
		default:
			low += 2 * third
		}
	}
	at := (low + high) / 2
	h := headrooms{Label: o.label}
	for i := 0; i < len(around); i += 2 {
		a, b := o.draw(t, at+around[i], at+around[i+1], 40)
		for k, draws := range [][]float64{a, b} {
			mean, sd := stat.MeanStdDev(draws, nil)
			h.U, h.Headroom, h.SD = append(h.U, around[i+k]), append(h.Headroom, round(mean)), append(h.SD, round(sd))
		}
	}
	// The zero of the line between the draws is where the capacity is.
	for i := range h.U[1:] {
		if h.Headroom[i] > 0 && h.Headroom[i+1] <= 0 {
			zero := h.U[i] + (h.U[i+1]-h.U[i])*h.Headroom[i]/(h.Headroom[i]-h.Headroom[i+1])
			for k := range h.U {
				h.U[k] = round(h.U[k] - zero)
			}
			h.Capacity = round(math.Exp(at + zero))
			return h
		}
	}
	t.Fatalf("%s: no capacity in %v", o.label, h)
	return h
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// draw the headrooms of two loads, given as logarithms, with arrivals and content anew for each.
func (o operated) draw(t *testing.T, one, other float64, draws int) (a, b []float64) {
	t.Helper()
	for seed := range draws {
		cfg := loadExample(t, "capacity")
		only := cfg.Benchmarks[0]
		cfg.Gates, only.RepeatMin, only.RepeatMax, only.Seed = nil, 1, 1, uint64(seed) // nothing is decided
		for _, s := range cfg.Servers {
			s.Spec.Simulate["launch_noise"], s.Spec.Simulate["profile"] = 0.0, o.profile
			s.Spec.Args = o.args
		}
		loads := []float64{one, other}
		var search *capacity.Search
		r := rehearse(t, eachWorkload(cfg, func(w *steps.Workload) {
			w.Load.Requests, w.Load.Search.SLO = 1000, o.slo
			w.Dataset.InputMin, w.Dataset.InputMax, w.Dataset.OutputMin, w.Dataset.OutputMax = o.input[0], o.input[1], o.output[0], o.output[1]
			var err error
			if search, err = capacity.New(w.Load); err != nil {
				t.Fatal(err)
			}
			w.Load, loads = w.Load.At(math.Exp(loads[0])), loads[1:]
		}))
		doc, err := r.Run(seed)
		if err != nil {
			t.Fatal(err)
		}
		for cell, to := range []*[]float64{&a, &b} {
			run := doc.Benchmarks[0].Cells[cell].Runs[0]
			if run.Status != result.RunOK {
				t.Fatalf("%s: %s: %s", o.label, run.Status, run.Reason)
			}
			*to = append(*to, search.Probe(&capacity.Step{}, run).Headroom)
		}
	}
	return a, b
}
