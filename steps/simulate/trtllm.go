package simulate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/prom"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// trtllm simulates trtllm-serve 1.2 with its PyTorch backend.
type trtllm struct{}

func (trtllm) name() string { return "trtllm" }

func (trtllm) commandLine(argv []string) ([]string, bool) {
	return serveCommand(argv, "trtllm-serve", "tensorrt_llm.commands.serve")
}

func (trtllm) quirks() quirks { return quirks{underscores: true, refusal: refusalTRTLLM} }

// refusalTRTLLM returns what click prints about arguments that it refuses.
func refusalTRTLLM(e usageError) string {
	text := e.text
	if flags, ok := strings.CutPrefix(text, "unrecognized arguments: "); ok {
		first, _, _ := strings.Cut(flags, " ")
		text = "No such option: " + first
	} else if rest, ok := strings.CutPrefix(text, "argument "); ok {
		flag, why, _ := strings.Cut(rest, ": ")
		text = fmt.Sprintf("Invalid value for '%s': %s", flag, why)
	}
	return "Usage: trtllm-serve serve [OPTIONS] MODEL\nTry 'trtllm-serve serve --help' for help.\n\nError: " + text + "\n"
}

func (trtllm) usage([]string, usageError) (program, summary string) { return "trtllm-serve", "" }

func (trtllm) nodes(*launch) (nodePlan, bool, error) { return nodePlan{}, false, nil }

// output is stdout.
func (trtllm) output(stdout, _ io.Writer) io.Writer { return stdout }

// line returns "[12/20/2025-04:21:10] [TRT-LLM] [I] text".
func (trtllm) line(_ *logger, _, level, _, text string) string {
	return lineTRTLLM(time.Now(), level, text)
}

func lineTRTLLM(at time.Time, level, text string) string {
	return fmt.Sprintf("[%s] [TRT-LLM] [%s] %s", at.Format("01/02/2006-15:04:05"), level[:1], text)
}

func (trtllm) access(_ *logger, text string) string { return text }

// step writes nothing: trtllm-serve logs its steps only with print_iter_log.
func (trtllm) step(*logger, model.Step, model.Stats) {}

// ready writes the lines of the phases of a start, with the times that they would have had, which have whole seconds.
func (trtllm) ready(s *Server, startup time.Duration) {
	g, c, now := s.log, s.launch.config, time.Now()
	at := func(before time.Duration, format string, args ...any) {
		g.raw("%s", lineTRTLLM(now.Add(-before.Round(time.Second)), "INFO", fmt.Sprintf(format, args...)))
	}
	const gib = 1 << 30
	at(startup, "Use %.2f GB for model weights.", c.Shape.WeightBytes/gib/float64(c.GPUs))
	g.raw("Model init total -- %.2fs", (startup / 2).Seconds())
	at(startup/2, "[Autotuner] Autotuning process starts ...")
	at(startup/4, "[Autotuner] Autotuning process ends")
	if !s.launch.eager {
		at(startup/4, "Creating CUDA graph instances for %d batch sizes.", min(c.MaxSeqs, 34))
	}
	g.raw("[TensorRT-LLM][INFO] Number of tokens per block: %d.", c.BlockSize)
	g.raw("[TensorRT-LLM][INFO] [MemUsageChange] Allocated %.2f GiB for max tokens in paged KV cache (%d).",
		float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib, c.KVTokens())
	g.api("INFO", "", "max_seq_len=%d, max_num_requests=%d, max_num_tokens=%d, max_batch_size=%d",
		c.MaxModelLen, c.MaxSeqs, c.Budget, c.MaxSeqs)
	g.api("INFO", "", "Setting PyTorch memory fraction to 0.9 (%.2f GiB)", 0.9*c.Profile.MemBytes/gib)
}

func (trtllm) serving(s *Server, addr string) {
	s.uvicornReady()
	s.uvicornRunning(addr)
}

func (trtllm) stopped(s *Server) { s.log.uvicorn("Application shutdown complete.") }

func (e trtllm) died(s *Server) {
	s.log.api("ERROR", "", "Error in event loop: CUDA error: an illegal memory access was encountered")
	s.log.raw("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
}

func (trtllm) portInUse(s *Server) {
	s.log.raw("RuntimeError: Failed to bind socket to %s:%d: [Errno 98] Address already in use", s.launch.host, s.launch.port)
}

func (trtllm) kvTooSmall(s *Server) {
	s.log.raw("RuntimeError: Executor creation failed due to insufficient GPU memory.")
}

func (trtllm) coreFailed(s *Server) { s.log.raw("RuntimeError: Executor worker returned error") }

// loadFailed and loadError are for KV transfers, which are not simulated.
func (trtllm) loadFailed(*kv.Part) kv.Message { return kv.Message{} }

func (trtllm) loadError(err error) string { return err.Error() }

func (trtllm) open(string) bool { return true }

func (trtllm) flatErrors(string) bool { return true }

func (trtllm) oneToken() bool { return false }

func (e trtllm) routes(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]string{"version": s.launch.version})
	})
	if s.launch.metrics {
		mux.HandleFunc("GET /prometheus/metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_ = e.exposition(w, s.launch, s.stats, s.exposed()) // the client is gone if this fails
		})
	}
}

// optionsTRTLLM holds the settings of the file of options that the model knows.
type optionsTRTLLM struct {
	TensorParallel   *int     `json:"tensor_parallel_size"`
	PipelineParallel *int     `json:"pipeline_parallel_size"`
	ContextParallel  *int     `json:"context_parallel_size"`
	BatchSize        *int     `json:"max_batch_size"`
	Tokens           *int     `json:"max_num_tokens"`
	Length           *int     `json:"max_seq_len"`
	Metrics          bool     `json:"return_perf_metrics"`
	Cache            struct { // kv_cache_config
		Fraction *float64 `json:"free_gpu_memory_fraction"`
		MaxToken int      `json:"max_tokens"`
		Reuse    *bool    `json:"enable_block_reuse"`
		Block    int      `json:"tokens_per_block"`
	} `json:"kv_cache_config"`
}

func (trtllm) resolve(l *launch, _ func(string) string) error {
	a := l.args
	if len(a.positional) != 1 {
		return usageError{"Missing argument 'MODEL'."}
	}
	l.model = a.positional[0]
	l.served = path.Base(l.model)
	if strings.Count(l.model, "/") == 1 && !strings.HasPrefix(l.model, "/") && !strings.HasPrefix(l.model, ".") {
		l.served = l.model // a name on the hub
	}
	l.host, l.port = a.str("--host", loopback), a.int("--port", 8000)
	text := []byte(l.file(cmp.Or(a.str("--config", ""), a.str("--extra-llm-api-options", ""))))
	var opt optionsTRTLLM
	var keys map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(text, &opt), json.Unmarshal(text, &keys)); err != nil {
		return fmt.Errorf("the file of options: %w", err)
	}
	l.metrics, l.cached, l.eager = opt.Metrics, true, string(keys["cuda_graph_config"]) == "null"
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	set := func(file *int, fallback int, names ...string) int {
		if file != nil {
			return *file
		}
		return firstInt(a, fallback, names...)
	}
	stages := max(set(opt.PipelineParallel, 1, "--pipeline-parallel-size", "--pp-size"), 1)
	gpus := max(set(opt.TensorParallel, 1, "--tensor-parallel-size", "--tp-size"), 1) * stages *
		max(set(opt.ContextParallel, 1, "--context-parallel-size"), 1)
	// A prompt over max_num_tokens is refused without chunked prefill; the model computes it in chunks in either case.
	c := model.Config{Profile: p, Shape: shape, GPUs: gpus, Stages: stages, BlockSize: cmp.Or(opt.Cache.Block, 32), Chunked: true, Mixed: true,
		Noise: l.settings.noise()}
	c.MaxModelLen = min(set(opt.Length, shape.MaxModelLen, "--max-seq-len"), shape.MaxModelLen)
	c.MaxSeqs = set(opt.BatchSize, 2048, "--max-batch-size")
	c.Budget = set(opt.Tokens, 8192, "--max-num-tokens")
	c.MaxSeqs = min(c.MaxSeqs, c.Budget)
	c.PrefixCache = opt.Cache.Reuse == nil || *opt.Cache.Reuse
	fraction := a.float("--free-gpu-memory-fraction", a.float("--kv-cache-free-gpu-memory-fraction", 0.9))
	if opt.Cache.Fraction != nil {
		fraction = *opt.Cache.Fraction
	}
	c.KVBlocks = int(fraction * float64(c.KVBlocksFor(1))) // a share of what the weights leave
	if opt.Cache.MaxToken > 0 {
		c.KVBlocks = min(c.KVBlocks, opt.Cache.MaxToken/c.BlockSize)
	}
	l.config = c
	return nil
}

// file returns the content of a file that the command line names; "{}" for one that this process was not given.
func (l *launch) file(name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "{file:"), "}")
	return cmp.Or(l.settings.Files[path.Base(name)], "{}")
}

func (trtllm) transfer(*launch, func(string) string) error { return nil }

// exposition writes metrics with the names of TensorRT-LLM's collector.
func (trtllm) exposition(w io.Writer, l *launch, m *metrics, e exposed) error {
	st := e.stats
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &prom.Writer{W: w, Scalars: m.scalars, Labels: `engine_type="undefined",model_name="undefined"`}
	x.Value("trtllm_num_requests_running", "Number of active requests", "gauge", float64(st.Running))
	x.Value("trtllm_num_requests_waiting", "Number of queued requests", "gauge", float64(st.Waiting))
	x.Value("trtllm_kv_cache_utilization", "KV cache utilization", "gauge", st.KVUsage)
	x.Value("trtllm_kv_cache_hit_rate", "KV cache hit rate", "gauge", hitRate(st))
	x.Value("trtllm_prompt_tokens_total", "Cumulative number of prompt (input) tokens processed.", "counter", float64(st.PromptTokens))
	x.Value("trtllm_generation_tokens_total", "Cumulative number of generation (output) tokens produced.", "counter", float64(st.OutputTokens))
	x.Value("trtllm_prompt_cached_tokens_total", "Cumulative number of prompt tokens found in the cache.", "counter", float64(st.PrefixHits))
	x.Histogram("trtllm_time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	x.Histogram("trtllm_time_per_output_token_seconds", "Histogram of time per output token in seconds.", m.itl)
	x.Histogram("trtllm_e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.", m.e2e)
	x.Histogram("trtllm_request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", m.queue)
	e.writeOwn(x, l)
	return x.Err
}
