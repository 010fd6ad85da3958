package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// loadFlags holds the flags of `pipeline load`. Flags with the same meaning have the same names as in `vllm bench
// serve`.
type loadFlags struct {
	url, model, endpoint, dataset string
	input, output, prefix         int
	rate                          string
	burstiness                    float64
	concurrency, requests, warmup int
	duration, timeout             time.Duration
	seed                          uint64
	apiKeyEnv, records            string
	asJSON, vllmJSON, noIgnoreEOS bool
	headers                       []string
	file                          string
	numPrefixes, suffix, turns    int
	users, system                 int
	timeScale                     float64
	trace, calibrate              bool
	thinkTime, ramp               time.Duration
	rampFrom, temperature         float64
	goodput                       []string
	body                          string
	format                        blockWriter
	realAnswers                   bool
	search                        string
	slo                           []string
	given                         map[string]bool // the flags that were given, by name
}

func (a *app) loadCommand() *cobra.Command {
	var f loadFlags
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "load --url URL --model NAME",
		Short: "Send a load to a server and print what it measured",
		Long: "Runs the load generator alone against a server that already answers, and prints the\nresult block of `vllm bench serve`, or " +
			"with --format sglang that of SGLang's. Exit status 1\n" +
			"if any request failed.",
		Example: "  pipeline load --url http://127.0.0.1:8000 --model Qwen/Qwen2.5-7B-Instruct \\\n" +
			"    --input-len 1024 --output-len 128 --rate 4 --requests 200",
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context, _ []string) error {
			f.given = map[string]bool{}
			cmd.Flags().Visit(func(flag *pflag.Flag) { f.given[flag.Name] = true })
			if f.calibrate && f.search != "" {
				return exit(exitUsage, errors.New("--calibrate measures this client, and --search a server: leave one out"))
			}
			if f.calibrate {
				return a.calibrateClient(ctx, f)
			}
			return a.send(ctx, f)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.url, "url", "", "base address of the server, for example http://127.0.0.1:8000")
	fl.StringVar(&f.model, "model", "", "model name to send")
	enumFlag(cmd, &f.endpoint, "endpoint", "completions", optionsOf(steps.Endpoints), "what is called")
	enumFlag(cmd, &f.dataset, "dataset", "random", words(a.datasets.Names()...), "what is sent")
	fl.StringVar(&f.file, "dataset-path", "", "`file` of the dataset, for sharegpt, file and trace")
	fl.IntVar(&f.numPrefixes, "num-prefixes", 10, "different prefixes of prefix_repetition")
	fl.IntVar(&f.suffix, "suffix-len", 256, "tokens after the prefix of prefix_repetition")
	fl.IntVar(&f.turns, "turns", 4, "requests of a conversation of chat")
	fl.IntVar(&f.users, "users", 16, "conversations of chat that go on at once")
	fl.IntVar(&f.system, "system-len", 0, "tokens of the system prompt that conversations of chat share")
	fl.Float64Var(&f.timeScale, "trace-scale", 1, "factor on the times of a trace: 0.5 sends twice as fast")
	fl.BoolVar(&f.trace, "trace-times", false, "send at the times of the trace instead of at --rate")
	fl.DurationVar(&f.thinkTime, "think-time", 0, "time that a user of a closed loop waits after an answer")
	fl.BoolVar(&f.calibrate, "calibrate", false,
		"measure what this client adds to latencies on this machine, against a built-in server of known times; needs no --url")
	fl.IntVar(&f.input, "input-len", 1024, "prompt length in tokens")
	fl.IntVar(&f.output, "output-len", 128, "answer length in tokens")
	fl.IntVar(&f.prefix, "prefix-len", 0, "tokens at the start of every prompt that are the same for all")
	fl.BoolVar(&f.realAnswers, "real-answers", false,
		"continue conversations of chat with what the server answered, not with made-up answers; needs --endpoint chat")
	fl.DurationVar(&f.ramp, "ramp", 0, "time over which the rate rises linearly to --rate")
	fl.Float64Var(&f.rampFrom, "ramp-from", 0, "rate at the start of the ramp")
	fl.Float64Var(&f.temperature, "temperature", 0, "temperature that is sent with every request")
	fl.StringVar(&f.body, "body", "", "further fields of the request body, a JSON `object`")
	fl.StringSliceVar(&f.goodput, "goodput", nil, "limits of a good request in milliseconds, such as `ttft:300,tpot:50` (ttft, tpot, e2el)")
	enumFlag(cmd, &f.format, "format", "vllm", blockFormats, "layout of the printed `block`")
	fl.StringVar(&f.rate, "rate", "inf", "requests per second, or inf for all at once")
	fl.Float64Var(&f.burstiness, "burstiness", 1, "shape of the gaps' gamma distribution: 1 is Poisson, inf is constant")
	fl.IntVar(&f.concurrency, "max-concurrency", 0, "bound on the requests in flight; with --rate inf a closed loop of so many users")
	fl.IntVar(&f.requests, "requests", 0, "number of requests (200 unless --duration is set)")
	fl.DurationVar(&f.duration, "duration", 0, "length of the schedule, instead of --requests")
	fl.IntVar(&f.warmup, "warmup", 0, "requests sent before the measured ones")
	fl.DurationVar(&f.timeout, "request-timeout", 10*time.Minute, "limit of one request")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of prompts and arrivals")
	fl.BoolVar(&f.noIgnoreEOS, "no-ignore-eos", false, "let answers end before their full length")
	fl.StringVar(&f.apiKeyEnv, "api-key-env", "OPENAI_API_KEY", "environment variable that holds the bearer token")
	fl.StringArrayVar(&f.headers, "header", nil, "extra request header, `name: value` (repeatable)")
	fl.StringVar(&f.search, "search", "", "search the highest load within --slo in place of a fixed one: `rate=4:64`, or concurrency=1:128")
	fl.StringSliceVar(&f.slo, "slo", nil, "limits of --search, in milliseconds or percent, such as `ttft.p95:500,success.rate:99.9`")
	fl.BoolVar(&f.asJSON, "json", false, "print the metrics as JSON")
	fl.BoolVar(&f.vllmJSON, "vllm-json", false, "print JSON in the shape of vllm bench serve --save-result --save-detailed")
	fl.StringVar(&f.records, "records", "", "write every request and token time to this file (JSON lines, gzip)")
	return cmd
}

func (a *app) send(ctx context.Context, f loadFlags) error {
	opt, err := a.loadOptions(f)
	if err != nil {
		return exit(exitUsage, err)
	}
	switch {
	case f.search != "":
		return a.searchLoad(ctx, f, opt)
	case len(f.slo) > 0:
		return exit(exitUsage, errors.New("--slo is for --search"))
	}
	res, err := load.Run(ctx, opt)
	if err != nil {
		if cause, ok := errors.AsType[interrupt](context.Cause(ctx)); ok {
			return exit(cause.exitCode(), err)
		}
		if _, ok := errors.AsType[*dataset.InvalidError](err); ok {
			return exit(exitUsage, err)
		}
		return exit(exitInfrastructure, err)
	}
	if f.records != "" {
		if err := writeRecords(f.records, res.Run); err != nil {
			return exit(exitInfrastructure, err)
		}
	}
	if err := a.printLoad(f, opt, res.Run); err != nil {
		return exit(exitInfrastructure, err)
	}
	if failed := record.Count(res.Run).Failed; failed > 0 {
		return exit(exitRegression, fmt.Errorf("%d of %d requests failed, the first with: %s", failed, res.Run.Requests.Len(),
			firstError(res.Run)))
	}
	return nil
}

func (a *app) loadOptions(f loadFlags) (load.Options, error) {
	if f.url == "" || f.model == "" {
		return load.Options{}, errors.New("--url and --model are needed")
	}
	w := steps.Workload{Endpoint: f.endpoint, IgnoreEOS: !f.noIgnoreEOS, Warmup: f.warmup, RequestTimeout: f.timeout,
		Temperature: f.temperature}
	if err := f.setBody(&w); err != nil {
		return load.Options{}, err
	}
	files, err := f.setDataset(a.datasets, &w.Dataset)
	if err != nil {
		return load.Options{}, err
	}
	if w.Load, err = f.loadModel(a.arrivals); err != nil {
		return load.Options{}, err
	}
	headers := map[string]string{}
	if key := a.Getenv(f.apiKeyEnv); key != "" {
		headers["Authorization"] = "Bearer " + key
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return load.Options{}, fmt.Errorf("--header %q is not of the form name: value", name)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return load.Options{
		BaseURL: f.url, Model: f.model, Headers: headers, Workload: w, Files: files, Arrivals: a.arrivals, Seed: f.seed, TimeScale: 1,
		Progress: a.loadProgress(),
	}, nil
}

func (f loadFlags) loadModel(arrivals load.Arrivals) (steps.Load, error) {
	l := steps.Load{MaxConcurrency: f.concurrency, Requests: f.requests, Duration: f.duration, ThinkTime: f.thinkTime, Ramp: f.ramp,
		RampFrom: f.rampFrom}
	if l.Requests == 0 && l.Duration == 0 {
		l.Requests = 200
	}
	rate, err := strconv.ParseFloat(f.rate, 64)
	if err != nil || !(rate > 0) {
		return l, fmt.Errorf("--rate %q must be a number above 0, or inf", f.rate)
	}
	switch {
	case f.trace && f.given["rate"]:
		return l, errors.New("--rate does not apply to --trace-times, which sends at the times of the trace: leave one out")
	case f.given["burstiness"] && (f.trace || math.IsInf(rate, 1) && f.search == ""):
		return l, errors.New("--burstiness is of the gaps between requests at a --rate, and none is given")
	case f.trace:
		l.Arrival = load.Trace
	case math.IsInf(rate, 1) && f.concurrency > 0:
		l.Arrival = load.Closed
	case math.IsInf(rate, 1):
		l.Arrival = load.Unlimited
	default:
		l.Rate = rate
		f.setGaps(&l)
	}
	if f.search != "" {
		return l, nil // the search defines and checks the arrivals
	}
	return l, arrivals.Check(l)
}

// setGaps sets the arrival process of a rate from --burstiness.
func (f loadFlags) setGaps(l *steps.Load) {
	switch {
	case math.IsInf(f.burstiness, 1):
		l.Arrival = load.Constant
	case f.burstiness == 1:
		l.Arrival = load.Poisson
	default:
		l.Arrival, l.Burstiness = load.Gamma, f.burstiness
	}
}

// loadProgress returns a function that redraws a progress line, nil without a terminal.
func (a *app) loadProgress() func(load.Progress) {
	if a.Width() == 0 {
		return nil
	}
	return func(p load.Progress) {
		fmt.Fprintf(a.Err, "\r\x1b[K%d/%d done, %.1f/s, %d in flight, %d failed, TTFT p50 %.0f ms p99 %.0f ms",
			p.Done, p.Total, p.Rate(), p.InFlight, p.Failed, float64(p.TTFTp50)/1e6, float64(p.TTFTp99)/1e6)
		if p.Done == p.Total {
			fmt.Fprint(a.Err, "\r\x1b[K")
		}
	}
}

// blockWriter prints the result block of another load generator.
type blockWriter func(io.Writer, record.Run, loadFlags, load.Options) error

var blockFormats = []option[blockWriter]{
	{name: "vllm", value: func(w io.Writer, run record.Run, f loadFlags, opt load.Options) error {
		return load.WriteVLLMBlock(w, run, f.vllmOptions(opt))
	}},
	{name: "sglang", value: func(w io.Writer, run record.Run, f loadFlags, opt load.Options) error {
		return load.WriteSGLangBlock(w, run, f.sglangOptions(opt))
	}},
}

func (a *app) printLoad(f loadFlags, opt load.Options, run record.Run) error {
	switch {
	case f.vllmJSON:
		text, err := load.VLLMJSON(run, f.vllmOptions(opt))
		if err != nil {
			return err
		}
		_, err = a.Out.Write(append(text, '\n'))
		return err
	case f.asJSON:
		return a.printLoadJSON(run)
	}
	if err := f.format(a.Out, run, f, opt); err != nil {
		return err
	}
	if _, reason := (load.Limits{}).Void(run.Audit); reason != "" {
		fmt.Fprintf(a.Err, "pipeline: the client was the limit: %s\n", reason)
	}
	return nil
}

func (f loadFlags) vllmOptions(opt load.Options) load.VLLMOptions {
	return load.VLLMOptions{
		MaxConcurrency: f.concurrency, RequestRate: opt.Workload.Load.Rate, Burstiness: opt.Workload.Load.Burstiness,
		Backend: "pipeline", EndpointType: f.endpoint, ModelID: f.model,
		Date: time.Now().Format("20060102-150405"), Detailed: true,
	}
}

func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func writeRecords(path string, run record.Run) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := record.Write(file, record.Header{}, run, nil); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return file.Close()
}

// maxError limits how much of a server's answer an error shows.
const maxError = 500

// firstError returns the server's answer to the first failed request, escaped for a terminal.
func firstError(run record.Run) string {
	for _, r := range run.Requests.All() {
		if r.Failure != "" {
			return escape.Text(fmt.Sprintf("%s: %s", r.Failure, r.Error), maxError)
		}
	}
	return "unknown"
}
