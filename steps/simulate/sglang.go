package simulate

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// sglang simulates SGLang 0.5.
type sglang struct{}

func (sglang) name() string { return kv.SGLang }

func (sglang) commandLine(argv []string) ([]string, bool) {
	return serveCommand(argv, "sglang", "sglang.launch_server")
}

func (sglang) quirks() quirks { return quirks{} }

func (sglang) usage([]string, usageError) (program, summary string) {
	return "launch_server.py", "launch_server.py [-h] --model-path MODEL_PATH [--host HOST] [--port PORT] ..."
}

func (sglang) nodes(l *launch) (nodePlan, bool, error) {
	a := l.args
	if a.int("--nnodes", 1) < 2 {
		return nodePlan{}, false, nil
	}
	p := nodePlan{nodes: a.int("--nnodes", 1), rank: a.int("--node-rank", 0), rendezvous: a.str("--dist-init-addr", "")}
	if p.rendezvous == "" {
		return p, true, usageError{"--dist-init-addr is required when --nnodes is above 1"}
	}
	return p, true, nil
}

// output is stderr.
func (sglang) output(_, stderr io.Writer) io.Writer { return stderr }

// line returns "[2026-09-02 13:08:10] text".
func (e sglang) line(g *logger, _, _, _, text string) string { return e.access(g, text) }

func (sglang) access(g *logger, text string) string {
	return fmt.Sprintf("[%s] %s", time.Now().Format("2006-01-02 15:04:05"), text)
}

// decodeLogInterval is SGLang's default of --decode-log-interval, in decode steps.
const decodeLogInterval = 40

func (sglang) step(g *logger, step model.Step, st model.Stats) {
	if step.PrefillTokens > 0 {
		g.api("INFO", "", "Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, #queue-req: %d, ",
			step.Sequences-step.DecodeTokens, step.PrefillTokens, st.PrefixHits-g.prompt, st.KVUsage, st.Running, st.Waiting)
		g.prompt = st.PrefixHits
		return
	}
	if g.decodes++; g.decodes%decodeLogInterval != 0 {
		return
	}
	if d := (step.End - g.since).Seconds(); d > 0 {
		g.throughput = float64(st.OutputTokens-g.output) / d
	}
	g.since, g.output = step.End, st.OutputTokens
	g.api("INFO", "",
		"Decode batch, #running-req: %d, #token: %d, token usage: %.2f, cuda graph: %s, gen throughput (token/s): %.2f, #queue-req: %d, ",
		st.Running, int(st.KVUsage*float64(g.l.config.KVTokens())), st.KVUsage, pythonBool(!g.l.eager), g.throughput, st.Waiting)
}

func (sglang) ready(s *Server, startup time.Duration) {
	g, c := s.log, s.launch.config
	const gib = 1 << 30
	weights, kv := c.Shape.WeightBytes/gib, float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib
	g.api("INFO", "", "Load weight end. elapsed=%.2f s, type=SimulatedForCausalLM, dtype=torch.bfloat16, avail mem=%.2f GB, "+
		"mem usage=%.2f GB.",
		(startup / 2).Seconds(), c.Profile.MemBytes/gib-weights, weights)
	g.api("INFO", "", "KV Cache is allocated. #tokens: %d, K size: %.2f GB, V size: %.2f GB", c.KVTokens(), kv/2, kv/2)
	if !s.launch.eager {
		g.api("INFO", "", "Capture cuda graph end. Time elapsed: %.2f s. mem usage=0.50 GB. avail mem=1.00 GB.", (startup / 4).Seconds())
	}
	g.api("INFO", "", "max_total_num_tokens=%d, chunked_prefill_size=%d, max_prefill_tokens=16384, max_running_requests=%d, context_len=%d",
		c.KVTokens(), c.Budget, c.MaxSeqs, c.MaxModelLen)
}

func (sglang) serving(s *Server, addr string) {
	l, g := s.launch, s.log
	s.uvicornReady()
	s.uvicornRunning(addr)
	if l.fail.NeverReady {
		return
	}
	if l.kv != nil {
		g.api("INFO", "", "Start of pd disaggregation warmup ...")
		g.api("INFO", "", "End of %s disaggregation mode warmup with status 200, resp: [{'text': ''}]", l.args.str("--disaggregation-mode", ""))
	}
	g.api("INFO", "", "The server is fired up and ready to roll!")
}

func (sglang) stopped(s *Server) { s.log.uvicorn("Application shutdown complete.") }

func (e sglang) died(s *Server) {
	s.log.api("ERROR", "", "Scheduler hit an exception: Traceback (most recent call last):\n  File "+
		"\"/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py\", line 2680, in run_scheduler_process\n    "+
		"scheduler.event_loop_overlap()\ntorch.AcceleratorError: CUDA error: an illegal memory access was encountered")
	e.coreFailed(s)
}

func (sglang) portInUse(s *Server) {
	l := s.launch
	s.log.raw("ERROR:    [Errno 98] error while attempting to bind on address ('%s', %d): address already in use", l.host, l.port)
}

func (sglang) kvTooSmall(s *Server) {
	l, g := s.launch, s.log
	g.api("ERROR", "",
		"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=%s",
		l.args.str("--mem-fraction-static", "0.88"))
}

func (sglang) coreFailed(s *Server) {
	s.log.api("ERROR", "", "Received sigquit from a child process. It usually means the child failed.")
}

func (sglang) loadFailed(*kv.Part) kv.Message {
	return kv.Message{Format: "Decode transfer failed for request rank=0 decode_req.req.rid='%d': KVTransferError: Failed to get kvcache " +
		"from prefill instance, it might be dead: %v"}
}

func (sglang) loadError(err error) string { return fmt.Sprintf("KVTransferError: %v", err) }

func (sglang) open(path string) bool { return path == "/health" || path == "/metrics" }

func (sglang) flatErrors(string) bool { return true }

func (sglang) oneToken() bool { return true }

func (sglang) routes(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.HandleFunc("POST /v1/rerank", s.ranking(s.rankingSGLang))
	mux.HandleFunc("/generate", s.generate)
	for _, path := range []string{"GET /server_info", "GET /get_server_info"} {
		mux.HandleFunc(path, s.serverInfo)
	}
	mux.HandleFunc("/flush_cache", s.flushCache)
	mux.HandleFunc("POST /release_memory_occupation", s.sleep)
	mux.HandleFunc("POST /resume_memory_occupation", s.wake)
	if s.launch.profiler.dir != "" {
		s.routesProfile(mux)
	}
	if s.launch.metrics {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = sglang{}.exposition(w, s.launch, s.stats, s.exposed()) // the client is gone if this fails
		})
	}
}

func (s *Server) flushCache(w http.ResponseWriter, _ *http.Request) {
	status := http.StatusOK
	if !s.driver.resetPrefixCache() {
		status = http.StatusBadRequest
	}
	w.WriteHeader(status)
	fmt.Fprint(w, "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation "+
		"will not be performed.)\n")
}

func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	l, c := s.launch, s.launch.config
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"model_path": l.model, "served_model_name": l.served, "version": l.version, "context_length": c.MaxModelLen,
		"tp_size": c.GPUs, "chunked_prefill_size": c.Budget, "max_running_requests": c.MaxSeqs, "enable_mixed_chunk": c.Mixed,
		"disable_radix_cache": !c.PrefixCache, "disable_cuda_graph": l.eager, "max_total_num_tokens": c.KVTokens(),
		"device": c.Profile.Device, "simulated": true,
		"internal_states": []any{map[string]any{"last_gen_throughput": s.driver.throughput(),
			"effective_max_running_requests_per_dp": c.MaxSeqs}},
	})
}

func (e sglang) resolve(l *launch, env func(string) string) error {
	a := l.args
	if len(a.positional) > 0 {
		return usageError{"unrecognized arguments: " + strings.Join(a.positional, " ")}
	}
	if l.model = a.str("--model-path", ""); l.model == "" {
		return usageError{"the following arguments are required: --model-path/--model"}
	}
	l.served = a.str("--served-model-name", l.model)
	l.adapters = adapterNames(a.values["--lora-paths"])
	l.host, l.port = a.str("--host", loopback), a.int("--port", 30000)
	l.eager = a.bool("--disable-cuda-graph", false)
	l.logStats = true
	l.metrics, l.accessLog = a.bool("--enable-metrics", false), true
	l.cached = a.bool("--enable-cache-report", false)
	l.profiler = profiler{dir: env("SGLANG_TORCH_PROFILER_DIR"), name: func(rank int, at time.Duration) string {
		return fmt.Sprintf("%.6f-TP-%d.trace.json.gz", at.Seconds(), rank)
	}}
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	stages := max(firstInt(a, 1, "--pipeline-parallel-size", "--pp-size"), 1)
	gpus := max(firstInt(a, 1, "--tensor-parallel-size", "--tp-size"), 1) * stages
	// SGLang's pages are single tokens by default. Blocks of 16 tokens only change how finely the
	// cache is counted, and keep the simulation cheap.
	c := model.Config{Profile: p, Shape: shape, GPUs: gpus, Stages: stages, BlockSize: max(16, a.int("--page-size", 1)),
		Noise: l.settings.noise()}
	c.MaxModelLen = a.int("--context-length", shape.MaxModelLen)
	c.PrefixCache = !a.bool("--disable-radix-cache", false)
	c.Mixed = a.bool("--enable-mixed-chunk", false)
	c.MaxSeqs = a.int("--max-running-requests", 2048)
	c.Speculation = e.speculation(l)
	chunk := 2048
	switch gib := p.MemBytes / (1 << 30); {
	case gib >= 60:
		chunk = 8192
	case gib >= 35:
		chunk = 4096
	}
	c.Budget = a.int("--chunked-prefill-size", chunk)
	c.Chunked = c.Budget > 0
	if !c.Chunked {
		c.Budget = max(a.int("--max-prefill-tokens", 16384), c.MaxModelLen)
	}
	if c.Mixed {
		c.MaxSeqs = min(c.MaxSeqs, c.Budget)
	}
	c.KVBlocks = c.KVBlocksFor(a.float("--mem-fraction-static", 0.88))
	if tokens := a.int("--max-total-tokens", 0); tokens > 0 {
		c.KVBlocks = min(c.KVBlocks, tokens/c.BlockSize)
	}
	l.config = c
	return nil
}

// transfer resolves --disaggregation-mode and the related flags.
func (sglang) transfer(l *launch, env func(string) string) error {
	a := l.args
	mode := a.str("--disaggregation-mode", "null")
	if mode == "null" {
		return nil
	}
	table, backend := l.connectors, a.str("--disaggregation-transfer-backend", "mooncake")
	form := table.Class(kv.SGLang, backend, l.version)
	if form == nil {
		return kv.Refused{Text: fmt.Sprintf("simulated: the transfer backend %s cannot be simulated; use one of %s", backend,
			strings.Join(table.Classes(kv.SGLang), ", "))}
	}
	p := &kv.Part{
		Form: form, Host: l.host, Env: env, ReadFile: os.ReadFile, Devices: kv.DeviceList(a.str("--disaggregation-ib-device", "")),
		Produces: mode == "prefill", Consumes: mode == "decode", FailLoads: true, CountLoads: true, Timeout: 300 * time.Second,
	}
	l.kv = p
	excludeClientOverhead(&l.config.Profile, p)
	if l.config.PrefixCache && p.Consumes && !a.bool("--disaggregation-decode-enable-radix-cache", false) {
		l.config.PrefixCache = false
	}
	if p.Produces && form.Play.Exchange != kv.FromNothing {
		p.Bootstrap = net.JoinHostPort(l.host, strconv.Itoa(a.int("--disaggregation-bootstrap-port", 8998)))
		p.Listen = net.JoinHostPort(l.host, "0")
	}
	return p.Resolve()
}

// exposition writes metrics with SGLang's names (0.5, --enable-metrics).
func (sglang) exposition(w io.Writer, l *launch, m *metrics, e exposed) error {
	st := e.stats
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := l.args.str("--disaggregation-mode", "null")
	if kind == "null" {
		kind = "unified"
	}
	x := &prom.Writer{W: w, Scalars: m.scalars, Labels: fmt.Sprintf("engine_type=%q,model_name=%q,pp_rank=\"0\",tp_rank=\"0\"", kind,
		l.served)}
	x.Value("sglang:num_running_reqs", "The number of running requests.", "gauge", float64(st.Running))
	x.Value("sglang:num_queue_reqs", "The number of requests in the waiting queue.", "gauge", float64(st.Waiting))
	x.Value("sglang:token_usage", "The token usage.", "gauge", st.KVUsage)
	x.Value("sglang:num_used_tokens", "The number of used tokens.", "gauge", st.KVUsage*float64(l.config.KVTokens()))
	x.Value("sglang:gen_throughput", "The generation throughput (token/s).", "gauge", e.throughput)
	x.Value("sglang:cache_hit_rate", "The prefix cache hit rate.", "gauge", hitRate(st))
	x.Value("sglang:num_retracted_reqs", "The number of retracted requests.", "gauge", float64(st.Preemptions))
	x.Value("sglang:max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", "gauge", float64(l.config.KVTokens()))
	x.Labels = fmt.Sprintf("model_name=%q", l.served)
	x.Value("sglang:prompt_tokens_total", "Number of prefill tokens processed.", "counter", float64(st.PromptTokens))
	x.Value("sglang:generation_tokens_total", "Number of generation tokens processed.", "counter", float64(st.OutputTokens))
	x.Value("sglang:cached_tokens_total", "Number of cached prompt tokens.", "counter", float64(st.PrefixHits))
	if l.config.Speculation.Tokens > 0 {
		x.Value("sglang:spec_verify_calls_total", "Number of verify calls of speculative decoding.", "counter", float64(st.Drafts.Steps))
	}
	if !m.scalars {
		x.Value("sglang:num_requests_total", "Number of requests processed.", "counter", float64(m.e2e.N))
	}
	x.Histogram("sglang:time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	x.Histogram("sglang:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	x.Histogram("sglang:e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", m.e2e)
	x.Histogram("sglang:queue_time_seconds", "Histogram of queueing time in seconds.", m.queue)
	if e.kv != nil {
		writeTransfersSGLang(x, e.kv)
	}
	e.writeOwn(x, l)
	return x.Err
}

// writeTransfersSGLang writes SGLang's metrics of a disaggregated server.
func writeTransfersSGLang(x *prom.Writer, k *transfer.Side) {
	n, bytes, seconds, failed := k.Totals()
	speed, latency, total := 0.0, 0.0, 0.0
	if n > 0 {
		latency, total = 1e3*seconds/float64(n), bytes/(1<<20)
	}
	if seconds > 0 {
		speed = bytes / seconds / (1 << 30)
	}
	x.Value("sglang:kv_transfer_speed_gb_s", "The transfer speed of the KV cache in GB/s.", "gauge", speed)
	x.Value("sglang:kv_transfer_latency_ms", "The transfer latency of the KV cache in ms.", "gauge", latency)
	x.Value("sglang:kv_transfer_total_mb", "The total size of KV cache transferred in MB.", "gauge", total)
	x.Value("sglang:num_transfer_failed_reqs_total", "The number of transfer failed requests.", "counter", float64(failed))
	x.Value("sglang:num_bootstrap_failed_reqs_total", "The number of bootstrap failed requests.", "counter", 0)
}
