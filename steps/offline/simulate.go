package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// benchmark is a program that has a double.
type benchmark struct {
	words  []string          // that name it
	server []string          // words of the server with the same engine, before the model
	flags  map[string]string // its own flags that take a value, with their defaults
	bools  []string          // its own flags that take none
	run    func(b *bench) (any, error)
}

// lengths are the flags of a random workload.
func lengths(input, output string, more map[string]string) map[string]string {
	out := map[string]string{"input-len": input, "output-len": output, "seed": "", "output-json": "", "result-filename": ""}
	maps.Copy(out, more)
	return out
}

// benchmarks returns the table of the programs.
func benchmarks() []benchmark {
	vllm, sglang := []string{"vllm", "serve"}, []string{"python3", "-m", "sglang.launch_server", "--model-path"}
	return []benchmark{
		{[]string{"bench", "latency"}, vllm, lengths("32", "128", map[string]string{"batch-size": "8", "num-iters": "30",
			"num-iters-warmup": "10", "n": ""}), []string{"disable-detokenize", "use-beam-search"}, (*bench).latency},
		{[]string{"bench", "throughput"}, vllm, lengths("1024", "128", map[string]string{"num-prompts": "1000", "dataset-name": "",
			"dataset-path": "", "backend": "", "n": "", "num-warmups": ""}), []string{"disable-detokenize", "async-engine"},
			func(b *bench) (any, error) { return b.throughput(false) }},
		{[]string{"bench", "startup"}, vllm, lengths("1", "1", map[string]string{"num-iters-cold": "3", "num-iters-warm": "3",
			"num-iters-warmup": "1"}), nil, (*bench).startups},
		{[]string{"-m", "sglang.bench_one_batch"}, sglang, lengths("1024", "16", map[string]string{"batch-size": "1", "run-name": ""}),
			[]string{"correctness-test"}, (*bench).oneBatch},
		{[]string{"-m", "sglang.bench_offline_throughput"}, sglang, lengths("1024", "128", map[string]string{"num-prompts": "1000",
			"dataset-name": "", "random-input-len": "", "random-output-len": "", "random-range-ratio": "", "random-input": "",
			"random-output": "", "backend": ""}), []string{"skip-warmup"}, func(b *bench) (any, error) { return b.throughput(true) }},
	}
}

// find returns the benchmark that a command line names, and the words behind its name.
func find(argv []string) (benchmark, []string, bool) {
	for _, b := range benchmarks() {
		for i := range argv {
			if rest := argv[i:]; len(rest) >= len(b.words) && slices.Equal(rest[:len(b.words)], b.words) {
				return b, rest[len(b.words):], true
			}
		}
	}
	return benchmark{}, nil, false
}

// Simulates reports whether a command line is one of a program that has a double.
func Simulates(argv []string) bool {
	_, _, ok := find(argv)
	return ok
}

// Main is the double of a program: it writes the file that the flags name, and returns the exit status.
func Main(argv []string, env func(string) string, stdout, stderr io.Writer) int {
	written, _, err := Simulate(argv, env, 0, stdout)
	output := ""
	for i, word := range argv {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if name == "output-json" || name == "result-filename" {
			if output = value; output == "" && i+1 < len(argv) {
				output = argv[i+1]
			}
		}
	}
	if err == nil && output != "" {
		err = os.WriteFile(output, written, 0o600)
	}
	if failed, ok := errors.AsType[*simulate.StartError](err); ok {
		return failed.Status
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	return 0
}

// bench is one run of a benchmark on a model of its engine.
type bench struct {
	flags   map[string]string
	name    string // of the model that is served
	engine  *model.Engine
	startup time.Duration
	seed    uint64
	noise   model.Noise
	now     time.Duration
	id      int
}

// Simulate runs a benchmark on the model of its engine, and returns what the program writes and how long it takes. machine
// is the number of the machine that it runs on.
func Simulate(argv []string, env func(string) string, machine int, log io.Writer) (written []byte, took time.Duration, err error) {
	of, words, ok := find(argv)
	if !ok {
		return nil, 0, fmt.Errorf("%q is not a benchmark that can be simulated: vllm bench latency, throughput or startup, "+
			"python3 -m sglang.bench_one_batch or sglang.bench_offline_throughput", strings.Join(argv, " "))
	}
	b := &bench{flags: of.flags}
	rest, err := b.read(of, words)
	if err != nil {
		return nil, 0, err
	}
	settings, err := simulate.ParseSettings(env(simulate.SettingsEnv))
	if err != nil {
		return nil, 0, err
	}
	settings.Engine = "" // that of the server's command line
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, 0, err
	}
	withSettings := func(name string) string {
		if name == simulate.SettingsEnv {
			return string(text)
		}
		return env(name)
	}
	server, err := simulate.Simulator{Machine: machine}.StartVirtual(slices.Concat(of.server, []string{b.name}, rest), withSettings, log)
	if err != nil {
		return nil, 0, err
	}
	b.startup, b.seed, b.noise = server.Startup, server.Node.Seed, server.Node.Config.Noise
	if b.engine, err = model.NewEngine(server.Node.Config, b.seed); err != nil {
		return nil, 0, err
	}
	result, err := of.run(b)
	if err != nil {
		return nil, 0, err
	}
	if written, err = json.Marshal(result); err != nil {
		return nil, 0, err
	}
	return append(written, '\n'), b.startup + b.now, nil
}

// read separates the flags of the benchmark from those of its engine.
func (b *bench) read(of benchmark, words []string) (rest []string, err error) {
	for i := 0; i < len(words); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(words[i], "--"), "=")
		_, own := b.flags[name]
		isModel := name == "model" || name == "model-path"
		switch {
		case !strings.HasPrefix(words[i], "--") || !own && !isModel && !slices.Contains(of.bools, name):
			rest = append(rest, words[i])
			continue
		case slices.Contains(of.bools, name):
			continue
		case !has && i+1 == len(words):
			return nil, fmt.Errorf("--%s needs a value", name)
		case !has:
			i++
			value = words[i]
		}
		if isModel {
			b.name = value
		} else {
			b.flags[name] = value
		}
	}
	if b.name == "" {
		return nil, errors.New("--model is missing")
	}
	return rest, nil
}

// number returns the value of a flag of the benchmark.
func (b *bench) number(name string) (int, error) {
	n, err := strconv.Atoi(b.flags[name])
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--%s must be a positive integer in a simulated run", name)
	}
	return n, nil
}

// numbers returns the values of flags of the benchmark.
func (b *bench) numbers(names ...string) ([]int, error) {
	out := make([]int, len(names))
	for i, name := range names {
		var err error
		if out[i], err = b.number(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// served holds the times of requests that an engine was given at once, in seconds.
type served struct {
	total, prefill float64
	decode         []float64 // of each step that only decodes
}

// serve gives requests to the engine at once, and returns when all are answered.
func (b *bench) serve(requests, input, output int) (served, error) {
	began, out := b.now, served{}
	for range requests {
		if err := b.engine.Submit(b.now, model.Request{ID: b.id, Input: input, Output: output}); err != nil {
			return out, err
		}
		b.id++
	}
	var events []model.Event
	for {
		at, ok := b.engine.NextStart(b.now)
		if !ok {
			break
		}
		step, ok := b.engine.Begin(at)
		if !ok {
			return out, errors.New("the model's engine cannot go on")
		}
		events, b.now = b.engine.End(events[:0]), step.End
		if step.PrefillTokens > 0 {
			out.prefill = (b.now - began).Seconds()
		} else {
			out.decode = append(out.decode, (step.End - step.Start).Seconds())
		}
	}
	out.total = (b.now - began).Seconds()
	return out, nil
}

// latency is vllm bench latency.
func (b *bench) latency() (any, error) {
	n, err := b.numbers("batch-size", "input-len", "output-len", "num-iters")
	if err != nil {
		return nil, err
	}
	warm, err := strconv.Atoi(b.flags["num-iters-warmup"])
	if err != nil {
		return nil, errors.New("--num-iters-warmup must be an integer")
	}
	values := make([]float64, 0, n[3])
	for i := range max(warm, 0) + n[3] {
		took, err := b.serve(n[0], n[1], n[2])
		if err != nil {
			return nil, err
		}
		if i >= warm {
			values = append(values, took.total)
		}
	}
	return map[string]any{"model_id": b.name, "avg_latency": record.Mean(values), "latencies": values, "percentiles": percentiles(values)}, nil
}

// throughput is vllm bench throughput, or SGLang's bench_offline_throughput.
func (b *bench) throughput(sglang bool) (any, error) {
	for from, to := range map[string]string{"random-input-len": "input-len", "random-output-len": "output-len", "random-input": "input-len",
		"random-output": "output-len"} {
		if b.flags[from] != "" {
			b.flags[to] = b.flags[from]
		}
	}
	n, err := b.numbers("num-prompts", "input-len", "output-len")
	if err != nil {
		return nil, err
	}
	took, err := b.serve(n[0], n[1], n[2])
	if err != nil {
		return nil, err
	}
	requests, input, output := float64(n[0]), float64(n[0]*n[1]), float64(n[0]*n[2])
	if sglang {
		return map[string]any{
			"backend": "engine", "successful_requests": requests, "total_latency": took.total, "total_input_tokens": input,
			"total_output_tokens": output, "request_throughput": requests / took.total, "input_throughput": input / took.total,
			"output_throughput": output / took.total, "total_throughput": (input + output) / took.total,
		}, nil
	}
	return map[string]any{
		"model_id": b.name, "elapsed_time": took.total, "num_requests": requests, "total_num_tokens": input + output,
		"requests_per_second": requests / took.total, "tokens_per_second": (input + output) / took.total,
	}, nil
}

// warmShare is the share of a start-up that is left when compiled code is cached. It is a round figure for rehearsals.
const warmShare = 0.5

// startups is vllm bench startup.
func (b *bench) startups() (any, error) {
	n, err := b.numbers("num-iters-cold", "num-iters-warm")
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(b.seed, b.seed))
	cold, warm := b.starts(1, n[0], rng), b.starts(warmShare, n[1], rng)
	return map[string]any{
		"avg_cold_startup_time": record.Mean(cold), "cold_startup_times": cold, "cold_startup_percentiles": percentiles(cold),
		"avg_warm_startup_time": record.Mean(warm), "warm_startup_times": warm, "warm_startup_percentiles": percentiles(warm),
	}, nil
}

// starts returns the times of n starts in seconds: the modelled time, with the noise of launches.
func (b *bench) starts(share float64, n int, rng *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = b.startup.Seconds() * share * max(b.noise.Slowdown, 1) * (1 + b.noise.LaunchSD*rng.NormFloat64())
		b.now += time.Duration(values[i] * float64(time.Second))
	}
	return values
}

// oneBatch is SGLang's bench_one_batch.
func (b *bench) oneBatch() (any, error) {
	n, err := b.numbers("batch-size", "input-len", "output-len")
	if err != nil {
		return nil, err
	}
	took, err := b.serve(n[0], n[1], n[2])
	if err != nil {
		return nil, err
	}
	decode := 0.0 // of one token, which the prefill brings
	if len(took.decode) > 0 {
		decode = record.Quantile(slices.Sorted(slices.Values(took.decode)), 0.5)
	}
	return map[string]any{
		"run_name": "default", "batch_size": n[0], "input_len": n[1], "output_len": n[2], "prefill_latency": took.prefill,
		"median_decode_latency": decode, "total_latency": took.total,
		"overall_throughput": float64(n[0]*(n[1]+n[2])) / took.total,
	}, nil
}

// percentiles returns those that vLLM writes.
func percentiles(values []float64) map[string]float64 {
	out, sorted := map[string]float64{}, slices.Sorted(slices.Values(values))
	for _, p := range []int{10, 25, 50, 75, 90, 99} {
		out[strconv.Itoa(p)] = record.Quantile(sorted, float64(p)/100)
	}
	return out
}
