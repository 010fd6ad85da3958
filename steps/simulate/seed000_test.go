package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
)

// seedCell is one published block: a backend under a workload, with its figures in milliseconds.
type seedCell struct {
	backend string
	input   int // tokens, the mean of all prompts
	rate    float64
	published,
	simulated figures
}

func (c seedCell) workload() string { return fmt.Sprintf("%d tokens, %g/s", c.input, c.rate) }

func readSeed000(t *testing.T) []seedCell {
	t.Helper()
	var cells []seedCell
	for _, line := range dataLines(t, "testdata/seed000.csv") {
		f := strings.Split(line, ",")
		v := make([]float64, len(f))
		for i := 1; i < len(f); i++ {
			v[i] = number(t, f[i])
		}
		cells = append(cells, seedCell{backend: f[0], input: int(v[1]) / 200, rate: v[2], published: figures{v[3], v[4], v[5], v[6],
			v[7], v[8], v[9]}})
	}
	return cells
}

// seedServer is a server of the benchmark, from its own command line.
func seedServer(t *testing.T, env map[string]string, flags ...string) model.Node {
	t.Helper()
	argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "--max-model-len", "10000"}, flags...)
	v, err := simulate.Simulator{}.StartVirtual(argv, func(k string) string {
		if k == simulate.SettingsEnv {
			return `{"version":"0.6.4.post1","profile":"a10"}`
		}
		return env[k]
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v.Node
}

// seedBackend replays arrivals on one of the five backends.
type seedBackend func([]model.Arrival, uint64) ([]model.Timeline, error)

func seedBackends(t *testing.T) map[string]seedBackend {
	t.Helper()
	all := map[string]seedBackend{
		"whole":   modeltest.Model{Config: seedServer(t, nil).Config}.Replay,
		"chunked": modeltest.Model{Config: seedServer(t, nil, "--enable-chunked-prefill").Config}.Replay,
	}
	for name, protocol := range map[string]string{
		"rdma": `"protocol":"rdma","device_name":"erdma_0"`, "rdma2": `"protocol":"rdma","device_name":"erdma_0,erdma_1"`,
		"tcp": `"protocol":"tcp","device_name":""`,
	} {
		path := filepath.Join(t.TempDir(), "mooncake.json")
		text := `{"prefill_url":"10.0.0.1:13003","decode_url":"10.0.0.2:13003","metadata_server":"10.0.0.1:2379",` + protocol + `}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"MOONCAKE_CONFIG_PATH": path}
		prefill := seedServer(t, env, transferTo("MooncakeConnector", "producer", `,"kv_rank":0,"kv_parallel_size":2,"kv_buffer_size":2e9`)...)
		decode := seedServer(t, env, transferTo("MooncakeConnector", "consumer", `,"kv_rank":1,"kv_parallel_size":2,"kv_buffer_size":2e9`)...)
		p := modeltest.Pair{Prefill: prefill.Config, Decode: decode.Config, Link: decode.Transfer.Link, Hop: decode.Config.Profile.Hop}
		all[name] = p.Replay
	}
	return all
}

// simulateSeed000 fills the simulated figures: medians over five launches of the medians of
// each, for every draw of arrivals the same number of launches.
func simulateSeed000(t *testing.T, cells []seedCell, draws [][]float64) {
	t.Helper()
	backends := seedBackends(t)
	for i := range cells {
		c := &cells[i]
		var each [7][]float64
		for _, gaps := range draws {
			for launch := range max(5/len(draws), 1) {
				timelines, err := backends[c.backend](seedArrivals(*c, gaps, launch), uint64(launch))
				if err != nil {
					t.Fatal(err)
				}
				for j, v := range summarize(timelines).list() {
					each[j] = append(each[j], v)
				}
			}
		}
		var m [7]float64
		for j := range m {
			m[j] = quantile(each[j], 0.5)
		}
		c.simulated = figures{m[0], m[1], m[2], m[3], m[4], m[5], m[6]}
	}
}

func (f figures) list() [7]float64 {
	return [7]float64{f.ttftMean, f.ttftMedian, f.ttftP99, f.tpotMean, f.tpotMedian, f.tpotP99, f.itlMedian}
}

func seedArrivals(c seedCell, gaps []float64, launch int) []model.Arrival {
	arrivals := make([]model.Arrival, 0, len(gaps))
	var at time.Duration
	for j, gap := range gaps {
		// Sonnet prompts end with the last line that fits: up to 24 tokens of spread.
		arrivals = append(arrivals, model.Arrival{At: at, Input: c.input - 12 + (j*7+launch*5)%25, Output: 6})
		// The published durations exceed the schedule's by 1.8 ms a request: the old client slept after each.
		at += time.Duration(gap/c.rate*float64(time.Second)) + 1800*time.Microsecond
	}
	return arrivals
}

// seedScore is how many of the published medians and differences the simulation shows.
type seedScore struct{ near, large, largeKept, medium, mediumKept int }

// medianOf are the two medians that are compared.
var medianOf = map[string]func(figures) float64{
	"TTFT": func(f figures) float64 { return f.ttftMedian },
	"TPOT": func(f figures) float64 { return f.tpotMedian },
}

// scoreSeed000 compares, and logs what is missed.
func scoreSeed000(t *testing.T, cells []seedCell) seedScore {
	t.Helper()
	var s seedScore
	for i, a := range cells {
		for _, name := range []string{"TTFT", "TPOT"} {
			of := medianOf[name]
			if r := of(a.simulated) / of(a.published); r >= 0.75 && r <= 1.25 {
				s.near++
			} else {
				t.Logf("missed: median %s of %s at %s is %.1f ms, published %.1f", name, a.backend, a.workload(), of(a.simulated), of(a.published))
			}
			for _, b := range cells[i+1:] {
				if a.workload() == b.workload() {
					s.difference(t, name, a, b)
				}
			}
		}
	}
	return s
}

// reportSeed000 logs the table, what it misses, and how much that is.
func reportSeed000(t *testing.T, cells []seedCell) seedScore {
	t.Helper()
	t.Logf("%-18s %-8s | median TTFT (ms)          | median TPOT (ms)        | mean TTFT       | mean TPOT", "workload", "backend")
	for _, c := range cells {
		t.Logf("%-18s %-8s | %7.1f published %7.1f | %6.2f published %6.2f | %6.0f (%6.0f) | %5.1f (%5.1f)", c.workload(), c.backend,
			c.simulated.ttftMedian, c.published.ttftMedian, c.simulated.tpotMedian, c.published.tpotMedian,
			c.simulated.ttftMean, c.published.ttftMean, c.simulated.tpotMean, c.published.tpotMean)
	}
	s := scoreSeed000(t, cells)
	t.Logf("within 25 %%: %d of 50; sign kept above 10 %%: %d of %d; between 5 and 10 %%: %d of %d", s.near, s.largeKept, s.large,
		s.mediumKept, s.medium)
	if s.large != 55 || s.medium != 20 {
		t.Fatalf("the published table has %d differences above 10 %% and %d between 5 and 10 %%; it should be 55 and 20", s.large, s.medium)
	}
	return s
}

// difference of two backends under one workload: the larger median over the smaller.
func (s *seedScore) difference(t *testing.T, name string, a, b seedCell) {
	t.Helper()
	of := medianOf[name]
	published, simulated := math.Log(of(b.published)/of(a.published)), math.Log(of(b.simulated)/of(a.simulated))
	size := math.Expm1(math.Abs(published))
	kept := published*simulated > 0
	switch {
	case size > 0.10:
		s.large++
		if kept {
			s.largeKept++
		}
	case size > 0.05:
		s.medium++
		if kept {
			s.mediumKept++
		}
	default:
		return
	}
	if !kept {
		t.Logf("missed: %s of %s over %s at %s is ×%.3f, published ×%.3f", name, b.backend, a.backend, a.workload(), math.Exp(simulated),
			math.Exp(published))
	}
}

// TestSeed000 simulates the published comparison of one server, one with chunked prefill,
// and pairs over RDMA, two RDMA devices and TCP, all of it from the command lines and the
// hardware profile: no constant belongs to a cell. The arrivals are the benchmark's own
// draw (seed 0). It holds what is reached, so that it cannot get worse unseen.
//
// Two published figures are not met. On one server at 1011 tokens, about half of the
// requests are interrupted by another's prefill, so that the median TPOT stands at the edge
// between two kinds of requests. The mean TPOT of the pairs there is twice too large.
func TestSeed000(t *testing.T) {
	cells := readSeed000(t)
	simulateSeed000(t, cells, [][]float64{readGaps(t)})
	s := reportSeed000(t, cells)
	if s.near < 48 || s.largeKept < 55 || s.mediumKept < 20 {
		t.Errorf("worse than it was: 48 of 50, 55 of 55 and 20 of 20")
	}
}

// TestSeed000OtherDraws repeats the comparison with five other draws of arrivals: medians
// of their medians against the published ones, which are of one draw.
func TestSeed000OtherDraws(t *testing.T) {
	cells := readSeed000(t)
	var draws [][]float64
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed+1, 0))
		gaps := make([]float64, 200)
		for i := range gaps {
			gaps[i] = rng.ExpFloat64()
		}
		draws = append(draws, gaps)
	}
	simulateSeed000(t, cells, draws)
	s := scoreSeed000(t, cells)
	t.Logf("within 25 %%: %d of 50; sign kept above 10 %%: %d of %d; between 5 and 10 %%: %d of %d", s.near, s.largeKept, s.large,
		s.mediumKept, s.medium)
	if s.near < 46 || s.largeKept < 54 || s.mediumKept < 20 {
		t.Error("worse than it was: 46 of 50, 54 of 55 and 20 of 20")
	}
}
