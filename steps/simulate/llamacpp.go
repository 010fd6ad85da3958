package simulate

import (
	"cmp"
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

// llamacpp simulates llama-server. Its slots are the sequences of a step, and its context is the KV cache that they share
// or divide.
type llamacpp struct{}

func (llamacpp) name() string { return "llamacpp" }

func (llamacpp) commandLine(argv []string) ([]string, bool) {
	for i, word := range argv {
		if path.Base(word) == "llama-server" {
			return argv[i+1:], true
		}
	}
	return nil, false
}

func (llamacpp) quirks() quirks { return quirks{underscores: true, refusal: refusalLlama} }

// refusalLlama returns what llama-server prints about arguments that it refuses.
func refusalLlama(e usageError) string {
	if flags, ok := strings.CutPrefix(e.text, "unrecognized arguments: "); ok {
		first, _, _ := strings.Cut(flags, " ")
		return "error: invalid argument: " + first + "\n"
	}
	if rest, ok := strings.CutPrefix(e.text, "argument "); ok {
		flag, why, _ := strings.Cut(rest, ": ")
		return fmt.Sprintf("error while handling argument %q: %s\n\nusage:\n%[1]s\n\n\nto show complete usage, run with -h\n", flag, why)
	}
	return "error: " + e.text + "\n"
}

func (llamacpp) usage([]string, usageError) (program, summary string) { return "llama-server", "" }

func (llamacpp) nodes(*launch) (nodePlan, bool, error) { return nodePlan{}, false, nil }

// output is stderr.
func (llamacpp) output(_, stderr io.Writer) io.Writer { return stderr }

// line returns "0.00.293.071 I srv  llama_server: text": minutes, seconds, milliseconds and microseconds since the start.
func (llamacpp) line(g *logger, _, level, source, text string) string {
	return lineLlama(time.Since(g.started), level, source, text)
}

func lineLlama(at time.Duration, level, source, text string) string {
	return fmt.Sprintf("%d.%02d.%03d.%03d %s srv  %12s: %s", int(at.Minutes()), int(at.Seconds())%60, at.Milliseconds()%1000,
		at.Microseconds()%1000, level[:1], source, text)
}

func (e llamacpp) access(g *logger, text string) string {
	return e.line(g, "", "INFO", "llama_server", text)
}

// step writes nothing: llama-server has lines for requests, and none for a period.
func (llamacpp) step(*logger, model.Step, model.Stats) {}

// ready writes the lines of the load with the model's times.
func (llamacpp) ready(s *Server, startup time.Duration) {
	g, c, l := s.log, s.launch.config, s.launch
	g.raw("%s", lineLlama(startup/8, "INFO", "load_model", fmt.Sprintf("loading model '%s'", l.model)))
	if l.args.int("--verbosity", 3) >= 4 {
		const mib = 1 << 20
		g.api("INFO", "print_info", "file size   = %.2f MiB", c.Shape.WeightBytes/mib)
		g.api("INFO", "llama_kv_cache", "size = %7.2f MiB (%6d cells, %3d layers, %2d/%d seqs)",
			float64(c.KVTokens())*c.Shape.KVBytesPerToken/mib, c.KVTokens(), max(c.Shape.Layers, 1), c.MaxSeqs, 1)
	}
	g.raw("%s", lineLlama(startup*7/8, "INFO", "load_model",
		fmt.Sprintf("initializing, n_slots = %d, n_ctx_slot = %d, kv_unified = '%t'", c.MaxSeqs, c.MaxModelLen, unified(l.args))))
}

func (llamacpp) serving(s *Server, addr string) {
	s.log.api("INFO", "llama_server", "model loaded")
	s.log.api("INFO", "llama_server", "listening on http://%s", addr)
}

func (llamacpp) stopped(s *Server) {
	s.log.api("INFO", "operator()", "operator(): cleaning up before exit...")
}

func (llamacpp) died(s *Server) {
	s.log.raw("CUDA error: an illegal memory access was encountered\n  current device: 0, in function ggml_backend_cuda_synchronize at " +
		"/app/ggml/src/ggml-cuda/ggml-cuda.cu:2753\n/app/ggml/src/ggml-cuda/ggml-cuda.cu:88: CUDA error")
}

func (llamacpp) portInUse(s *Server) {
	s.log.api("ERROR", "start", "couldn't bind HTTP server socket, hostname: %s, port: %d", s.launch.host, s.launch.port)
	s.log.api("ERROR", "llama_server", "exiting due to HTTP server error")
}

func (llamacpp) kvTooSmall(s *Server) {
	s.log.api("ERROR", "llama_init_from_model", "failed to initialize the context: failed to allocate buffer for kv cache")
}

func (llamacpp) coreFailed(s *Server) {
	s.log.api("ERROR", "load_model", "failed to load model, '%s'", s.launch.model)
}

// loadFailed and loadError are for KV transfers, which llama-server does not have.
func (llamacpp) loadFailed(*kv.Part) kv.Message { return kv.Message{} }

func (llamacpp) loadError(err error) string { return err.Error() }

func (llamacpp) open(path string) bool { return path == "/health" || path == "/v1/models" }

func (llamacpp) flatErrors(string) bool { return false }

func (llamacpp) oneToken() bool { return false }

func (e llamacpp) routes(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("POST /tokenize", s.tokenizeContent)
	mux.HandleFunc("POST /v1/rerank", s.ranking(s.rankingSGLang))
	mux.HandleFunc("GET /props", s.properties)
	if s.launch.metrics {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_ = e.exposition(w, s.launch, s.stats, s.exposed()) // the client is gone if this fails
		})
	}
}

// tokenizeContent answers /tokenize in llama-server's form: a request without content has no tokens.
func (s *Server) tokenizeContent(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Content string `json:"content"`
	}
	if err := wire.ReadJSON(r, &req); err != nil {
		s.fail(w, wire.BadRequest("%v", err))
		return
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{"tokens": model.Encode(req.Content)})
}

// properties answers /props.
func (s *Server) properties(w http.ResponseWriter, _ *http.Request) {
	l, c := s.launch, s.launch.config
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"default_generation_settings": map[string]any{"n_ctx": c.MaxModelLen}, "total_slots": c.MaxSeqs, "model_alias": l.served,
		"model_path": l.model, "endpoint_metrics": l.metrics, "build_info": l.version + "-simulated", "is_sleeping": false, "simulated": true,
	})
}

// unified reports whether the slots share the context. They do by default where their number is left to llama-server.
func unified(a *arguments) bool { return a.bool("--kv-unified", a.int("--parallel", -1) < 0) }

func (llamacpp) resolve(l *launch, _ func(string) string) error {
	a := l.args
	if len(a.positional) > 0 {
		return usageError{"unrecognized arguments: " + strings.Join(a.positional, " ")}
	}
	if l.model = cmp.Or(a.str("--model", ""), a.str("--model-url", ""), a.str("--hf-repo", "")); l.model == "" {
		return usageError{"--model is required: without one, llama-server is a router of models, which is not simulated"}
	}
	l.served = a.str("--alias", l.model)
	l.host, l.port = a.str("--host", loopback), a.int("--port", 8080)
	l.metrics, l.cached = a.bool("--metrics", false), true
	p, shape, err := l.hardware()
	if err != nil {
		return err
	}
	c := model.Config{Profile: p, Shape: shape, GPUs: 1, Stages: 1, BlockSize: 16, Chunked: true, Mixed: true, Noise: l.settings.noise()}
	c.PrefixCache = a.bool("--cache-prompt", true)
	const autoSlots = 4
	if c.MaxSeqs = a.int("--parallel", -1); c.MaxSeqs < 1 {
		c.MaxSeqs = autoSlots
	}
	c.Budget = max(a.int("--batch-size", 2048), c.MaxSeqs)
	context := a.int("--ctx-size", 0)
	if context == 0 {
		context = shape.MaxModelLen
	}
	// Without --fit off, llama-server reduces the context to what fits.
	context = min(context, c.KVBlocksFor(1)*c.BlockSize)
	c.KVBlocks = context / c.BlockSize
	if c.MaxModelLen = c.KVTokens(); !unified(a) {
		c.MaxModelLen = max(c.KVTokens()/c.MaxSeqs, 1)
	}
	l.config = c
	return nil
}

func (llamacpp) transfer(*launch, func(string) string) error { return nil }

// exposition writes metrics with llama-server's names (b10434, --metrics).
func (llamacpp) exposition(w io.Writer, l *launch, m *metrics, e exposed) error {
	st := e.stats
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &prom.Writer{W: w, Scalars: m.scalars}
	x.Value("llamacpp:prompt_tokens_total", "Number of prompt tokens processed, excluding cached tokens", "counter",
		float64(st.PromptTokens-st.PrefixHits))
	x.Value("llamacpp:prompt_tokens_cached_total", "Number of prompt tokens reused from the cache", "counter", float64(st.PrefixHits))
	x.Value("llamacpp:tokens_predicted_total", "Number of generation tokens processed", "counter", float64(st.OutputTokens))
	x.Value("llamacpp:predicted_tokens_seconds", "Average generation throughput in tokens/s", "gauge", e.throughput)
	x.Value("llamacpp:requests_processing", "Number of requests processing", "gauge", float64(st.Running))
	x.Value("llamacpp:requests_deferred", "Number of requests deferred", "gauge", float64(st.Waiting))
	e.writeOwn(x, l)
	return x.Err
}
