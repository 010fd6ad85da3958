package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// vllm simulates vLLM 0.6 and later. For releases before V1 (0.8) only the scheduler is modelled,
// which is all that virtual time needs.
type vllm struct{}

// beforeV1 reports whether a version is a release before V1.
func beforeV1(version string) bool {
	return steps.IsRelease(version) && steps.CompareReleases(version, "0.8") < 0
}

func (vllm) name() string { return kv.VLLM }

func (vllm) commandLine(argv []string) ([]string, bool) {
	return serveCommand(argv, "vllm", "vllm.entrypoints.openai.api_server")
}

// The first connectors (PyNccl, Mooncake) were tested with builds of 0.6.4 that already had the
// flag of transfers.
func (vllm) quirks() quirks {
	return quirks{underscores: true, levels: "--compilation-config", extra: flags.Def{Name: transferFlag, Kind: flags.JSON}}
}

func (vllm) usage(argv []string, cause usageError) (program, summary string) {
	switch {
	case slices.Contains(argv, "vllm.entrypoints.openai.api_server"):
		return "api_server.py", "api_server.py [-h] [--host HOST] [--port PORT] [--model MODEL] ..."
	case strings.HasPrefix(cause.text, "argument "): // found by the parser of the subcommand
		return "vllm serve", "vllm serve [model_tag] [options]"
	}
	return "vllm", "vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ..."
}

func (vllm) nodes(l *launch) (nodePlan, bool, error) {
	a := l.args
	if !a.has("--nnodes") {
		return nodePlan{}, false, nil
	}
	p := nodePlan{nodes: a.int("--nnodes", 1), rank: a.int("--node-rank", 0)}
	p.rendezvous = net.JoinHostPort(a.str("--master-addr", "127.0.0.1"), strconv.Itoa(a.int("--master-port", 29501)))
	if p.rank > 0 && !a.bool("--headless", false) {
		return p, true, usageError{"argument --node-rank: only the first node serves requests; the others need --headless"}
	}
	return p, true, nil
}

// output is stdout.
func (vllm) output(stdout, _ io.Writer) io.Writer { return stdout }

// line returns "(APIServer pid=7) INFO 09-02 13:08:10 [file:line] text".
func (vllm) line(g *logger, process, level, source, text string) string {
	at := time.Now().Format("01-02 15:04:05")
	return fmt.Sprintf("(%s pid=%d) %s %s [%s] %s", process, g.pid, level, at, source, text)
}

func (vllm) access(g *logger, text string) string {
	return fmt.Sprintf("(APIServer pid=%d) %s", g.pid, text)
}

func (vllm) step(g *logger, step model.Step, st model.Stats) {
	if g.idle {
		g.idle, g.since = false, step.Start
	}
	if d := step.End - g.since; d >= g.interval {
		g.statsVLLM(d, st)
		if g.kv != nil {
			g.transferStats(g.kv, d.Seconds())
		}
		g.since, g.prompt, g.output = step.End, st.PromptTokens, st.OutputTokens
		g.idle = st.Running+st.Waiting == 0
	}
}

func (vllm) ready(s *Server, startup time.Duration) {
	g, c := s.log, s.launch.config
	const gib = 1 << 30
	weights, kv := c.Shape.WeightBytes/gib, float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib
	g.core("INFO", "default_loader.py:267", "Loading weights took %.2f seconds", (startup / 4).Seconds())
	g.core("INFO", "gpu_model_runner.py:2653", "Model loading took %.4f GiB and %.6f seconds", weights, (startup / 2).Seconds())
	if !s.launch.eager {
		g.core("INFO", "monitor.py:34", "torch.compile takes %.2f s in total", (startup / 8).Seconds())
	}
	g.core("INFO", "gpu_worker.py:298", "Available KV cache memory: %.2f GiB", kv)
	g.core("INFO", "kv_cache_utils.py:1087", "GPU KV cache size: %s tokens", thousands(c.KVTokens()))
	g.core("INFO", "kv_cache_utils.py:1091", "Maximum concurrency for %s tokens per request: %.2fx", thousands(c.MaxModelLen),
		float64(c.KVTokens())/float64(c.MaxModelLen))
	if !s.launch.eager {
		g.core("INFO", "gpu_model_runner.py:3480", "Graph capturing finished in %.0f secs, took 0.50 GiB", (startup / 4).Seconds())
	}
	g.core("INFO", "core.py:210", "init engine (profile, create kv cache, warmup model) took %.2f seconds", (startup / 2).Seconds())
}

func (vllm) serving(s *Server, addr string) {
	s.log.api("INFO", "api_server.py:1912", "Starting vLLM API server 0 on http://%s", addr)
	s.uvicornReady()
}

func (vllm) stopped(s *Server) { s.log.uvicorn("Application shutdown complete.") }

func (vllm) died(s *Server) {
	g := s.log
	g.core("ERROR", "core.py:720", "EngineCore encountered a fatal error.")
	g.core("ERROR", "core.py:720", "Traceback (most recent call last):\n  File "+
		"\"/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py\", line 711, in run_engine_core\n    "+
		"engine_core.run_busy_loop()\ntorch.AcceleratorError: CUDA error: an illegal memory access was encountered")
	g.api("ERROR", "async_llm.py:480", "AsyncLLM output_handler failed.")
	g.raw("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.")
}

func (vllm) portInUse(s *Server) {
	s.log.raw("Traceback (most recent call last):\n  File " +
		"\"/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/api_server.py\", line 1800, in create_server_socket\n    " +
		"sock.bind(addr)\nOSError: [Errno 98] Address already in use")
}

func (vllm) kvTooSmall(s *Server) {
	g, c := s.log, s.launch.config
	if c.KVBlocks == 0 {
		g.core("ERROR", "core.py:708",
			"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.")
		return
	}
	const gib = 1 << 30
	g.core("ERROR", "core.py:708", "ValueError: To serve at least one request with the model's max seq len (%d), (%.2f GiB KV cache is "+
		"needed, which is larger than the available KV cache memory (%.2f GiB). Try increasing `gpu_memory_utilization` or decreasing "+
		"`max_model_len` when initializing the engine.",
		c.MaxModelLen, float64(c.MaxModelLen)*c.Shape.KVBytesPerToken/gib, float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib)
}

// coreFailed writes the error that vLLM puts after the root cause.
func (vllm) coreFailed(s *Server) {
	s.log.raw("(APIServer pid=%d) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): "+
		"{'EngineCore_DP0': 1}", s.log.pid)
}

func (vllm) loadFailed(p *kv.Part) kv.Message { return p.LoadFailed() }

func (vllm) loadError(error) string { return "Internal server error: KV load failure" }

func (vllm) open(path string) bool { return !strings.HasPrefix(path, "/v1") }

func (vllm) flatErrors(version string) bool { return steps.CompareReleases(version, "0.10") < 0 }

func (vllm) oneToken() bool { return false }

func (vllm) routes(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /v1/rerank", s.ranking(s.rankingVLLM))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]string{"version": s.launch.version})
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = vllm{}.exposition(w, s.launch, s.stats, s.exposed()) // the client is gone if this fails
	})
	if s.launch.profiler.dir != "" {
		s.routesProfile(mux)
	}
	if !s.launch.devMode {
		return
	}
	mux.HandleFunc("POST /reset_prefix_cache", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]bool{"success": s.driver.resetPrefixCache()})
	})
	s.routesSleepVLLM(mux)
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"vllm_config": s.resolvedVLLM()})
	})
}

// resolvedVLLM returns the configuration after all defaults, for people and fingerprints.
func (s *Server) resolvedVLLM() map[string]any {
	l, c := s.launch, s.launch.config
	return map[string]any{
		"model": l.model, "served_model_name": l.served, "max_model_len": c.MaxModelLen, "tensor_parallel_size": c.GPUs,
		"max_num_seqs": c.MaxSeqs, "max_num_batched_tokens": c.Budget, "enable_chunked_prefill": c.Chunked,
		"enable_prefix_caching": c.PrefixCache, "block_size": c.BlockSize, "num_gpu_blocks": c.KVBlocks,
		"enforce_eager": l.eager, "device": c.Profile.Device, "simulated": true,
	}
}

func (e vllm) resolve(l *launch, env func(string) string) error {
	a := l.args
	l.model = a.str("--model", "facebook/opt-125m")
	if steps.CompareReleases(l.version, "0.11") >= 0 {
		l.model = a.str("--model", "Qwen/Qwen3-0.6B")
	}
	switch len(a.positional) {
	case 0:
	case 1:
		l.model = a.positional[0]
	default:
		return usageError{"unrecognized arguments: " + strings.Join(a.positional[1:], " ")}
	}
	l.served = a.str("--served-model-name", l.model)
	l.adapters = adapterNames(a.values["--lora-modules"])
	l.host, l.port = a.str("--host", loopback), a.int("--port", 8000) // vLLM itself would listen on all interfaces
	l.eager = a.bool("--enforce-eager", false)
	l.logStats = !a.bool("--disable-log-stats", false)
	l.metrics, l.accessLog = true, !a.bool("--disable-uvicorn-access-log", false)
	l.cached = a.bool("--enable-prompt-tokens-details", false)
	l.devMode = env("VLLM_SERVER_DEV_MODE") == "1"
	l.profiler = vllmProfiler(l, env)
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	stages := max(a.int("--pipeline-parallel-size", 1), 1)
	c := model.Config{Profile: p, Shape: shape, GPUs: max(a.int("--tensor-parallel-size", 1), 1) * stages, Stages: stages,
		BlockSize: a.int("--block-size", 16), Noise: l.settings.noise()}
	c.MaxModelLen = a.int("--max-model-len", shape.MaxModelLen)
	if c.Speculation, err = e.speculation(l); err != nil {
		return err
	}
	e.scheduler(l, &c)
	e.memory(l, &c)
	l.config = c
	return nil
}

// vllmProfiler returns the profiler. A flag configures it since 0.13, variables until 0.15.
func vllmProfiler(l *launch, env func(string) string) profiler {
	p := profiler{name: func(rank int, at time.Duration) string {
		return fmt.Sprintf("dp0_pp0_tp%d_dcp0_ep0_rank%[1]d.%d.pt.trace.json.gz", rank, at.Nanoseconds())
	}}
	var config struct {
		Profiler string `json:"profiler"`
		Dir      string `json:"torch_profiler_dir"`
	}
	if text := l.args.str("--profiler-config", ""); text != "" && json.Unmarshal([]byte(text), &config) == nil && config.Profiler == "torch" {
		p.dir = config.Dir
	} else if steps.CompareReleases(l.version, "0.16") < 0 {
		p.dir = env("VLLM_TORCH_PROFILER_DIR")
	}
	return p
}

// scheduler resolves the scheduler's defaults: EngineArgs of 0.6.4 (chunked prefill only for
// contexts above 32K, then with a budget of 512), and get_batch_defaults of 0.11 and later (by the
// memory of the GPU).
func (vllm) scheduler(l *launch, c *model.Config) {
	a := l.args
	if beforeV1(l.version) {
		c.Chunked = a.bool("--enable-chunked-prefill", c.MaxModelLen > 32768)
		c.Mixed = c.Chunked
		c.Watermark = 0.01
		c.PrefixCache = a.bool("--enable-prefix-caching", false)
		c.MaxSeqs = a.int("--max-num-seqs", 256)
		budget := max(c.MaxModelLen, 2048)
		if c.Chunked {
			budget = 512
		}
		c.Budget = a.int("--max-num-batched-tokens", budget)
		return
	}
	budget, seqs := 2048, 256
	switch gib := c.Profile.MemBytes / (1 << 30); {
	case gib >= 160 && steps.CompareReleases(l.version, "0.20") >= 0:
		budget, seqs = 16384, 1024
	case gib >= 70:
		budget, seqs = 8192, 1024
	}
	c.Chunked, c.Mixed = a.bool("--enable-chunked-prefill", true), true
	c.PrefixCache = a.bool("--enable-prefix-caching", true)
	c.MaxSeqs = a.int("--max-num-seqs", seqs)
	if !c.Chunked {
		budget = max(budget, c.MaxModelLen)
	}
	c.Budget = a.int("--max-num-batched-tokens", budget)
	if !a.has("--max-num-seqs") {
		c.MaxSeqs = min(c.MaxSeqs, c.Budget)
	}
}

func (vllm) memory(l *launch, c *model.Config) {
	utilization := 0.9
	if steps.CompareReleases(l.version, "0.20") >= 0 {
		utilization = 0.92
	}
	utilization = l.args.float("--gpu-memory-utilization", utilization)
	c.KVBlocks = c.KVBlocksFor(utilization)
	if bytes := l.args.int("--kv-cache-memory-bytes", 0); bytes > 0 {
		c.KVBlocks = int(float64(bytes*c.GPUs) / (c.KVTokenBytes() * float64(c.BlockSize)))
	}
	c.KVBlocks = l.args.int("--num-gpu-blocks-override", c.KVBlocks)
}

// exposition writes metrics with vLLM's names of V1.
func (vllm) exposition(w io.Writer, l *launch, m *metrics, e exposed) error {
	st := e.stats
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &prom.Writer{W: w, Scalars: m.scalars, Labels: fmt.Sprintf("engine=\"0\",model_name=%q", l.served)}
	x.Value("vllm:num_requests_running", "Number of requests in model execution batches.", "gauge", float64(st.Running))
	x.Value("vllm:num_requests_waiting", "Number of requests waiting to be processed.", "gauge", float64(st.Waiting))
	x.Value("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", "gauge", st.KVUsage)
	x.Value("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", "counter",
		float64(st.PrefixQueries))
	x.Value("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", "counter", float64(st.PrefixHits))
	x.Value("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.", "counter", float64(st.Preemptions))
	writeDraftsVLLM(x, l, st.Drafts)
	x.Value("vllm:prompt_tokens_total", "Number of prefill tokens processed.", "counter", float64(st.PromptTokens))
	x.Value("vllm:generation_tokens_total", "Number of generation tokens processed.", "counter", float64(st.OutputTokens))
	if !m.scalars {
		writeFinishedVLLM(x, m)
	}
	x.Histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	if steps.CompareReleases(l.version, "0.11") < 0 {
		x.Histogram("vllm:time_per_output_token_seconds", "Histogram of time per output token in seconds.", m.itl)
	} else {
		x.Histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	}
	x.Histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", m.e2e)
	x.Histogram("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", m.queue)
	if steps.CompareReleases(l.version, "0.15") >= 0 {
		writeSources(x, st)
	}
	if e.kv != nil {
		writeTransfersVLLM(x, l, e.kv, st)
	}
	e.writeOwn(x, l)
	return x.Err
}

func writeFinishedVLLM(x *prom.Writer, m *metrics) {
	x.Head("vllm:request_success_total", "Count of successfully processed requests.", "counter")
	for _, reason := range []string{"stop", "length", "abort"} {
		x.Printf("vllm:request_success_total{%s,finished_reason=%q} %s\n", x.Labels, reason, prom.FormatFloat(float64(m.finished[reason])))
	}
}

// writeTransfersVLLM writes the metrics that vLLM adds for a connector.
func writeTransfersVLLM(x *prom.Writer, l *launch, k *transfer.Side, st model.Stats) {
	x.Value("vllm:external_prefix_cache_queries_total",
		"External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.", "counter",
		float64(st.ExternalQueries))
	x.Value("vllm:external_prefix_cache_hits_total",
		"External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.", "counter",
		float64(st.ExternalHits))
	if steps.CompareReleases(l.version, "0.12") >= 0 { // earlier, only the periodic line shows transfers
		k.WriteMetrics(x)
	}
}

// writeSources writes the sources of prompt tokens.
func writeSources(x *prom.Writer, st model.Stats) {
	const name = "vllm:prompt_tokens_by_source_total"
	x.Head(name, "Number of prompt tokens by source.", "counter")
	local := max(0, st.PromptTokens-st.PrefixHits-st.ExternalHits)
	for _, s := range []struct {
		source string
		tokens int
	}{{"local_compute", local}, {"local_cache_hit", st.PrefixHits}, {"external_kv_transfer", st.ExternalHits}} {
		x.Printf("%s{%s,source=%q} %s\n", name, x.Labels, s.source, prom.FormatFloat(float64(s.tokens)))
	}
}

func (g *logger) statsVLLM(d time.Duration, st model.Stats) {
	in, out := float64(st.PromptTokens-g.prompt)/d.Seconds(), float64(st.OutputTokens-g.output)/d.Seconds()
	g.api("INFO", "loggers.py:127", "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: "+
		"%d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%",
		in, out, st.Running, st.Waiting, 100*st.KVUsage, 100*hitRate(st))
}

// transferStats writes vLLM's periodic line on transfers, and Mooncake's own.
func (g *logger) transferStats(k *transfer.Side, seconds float64) {
	window, failed, expired := k.TakeWindow()
	if len(window) == 0 {
		return
	}
	bytes, took := 0.0, 0.0
	var each []float64
	for _, t := range window {
		bytes, took = bytes+t.Bytes, took+t.Took.Seconds()
		each = append(each, 1e3*t.Took.Seconds())
	}
	slices.Sort(each)
	n, mb := float64(len(window)), bytes/(1<<20)
	throughput := mb / max(took, 1e-9)
	if p := k.Part(); p.Exchange == kv.ByAnswer || p.Exchange == kv.ByTransferID {
		g.api("INFO", "metrics.py:100", "KV Transfer metrics: Num successful transfers=%d, Avg xfer time (ms)=%.3f, P90 xfer time (ms)=%.3f, "+
			"Avg MB per transfer=%.3f, Throughput (MB/s)=%.3f, Num failed transfers=%d, Num KV expired reqs=%d",
			len(window), 1e3*took/n, each[(len(each)-1)*9/10], mb/n, throughput, failed, expired)
	}
	k.Part().WriteStats(g, seconds, throughput, len(window))
}
