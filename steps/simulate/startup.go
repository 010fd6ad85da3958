package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// errStart ends a launch that failed with the engine's own lines already written.
var errStart = errors.New("the simulated server failed to start")

// start goes through the engine's start-up: lines, time, failures. It returns once the
// server may listen.
func (s *Server) start(ctx context.Context) error { return s.startIn(ctx, s.probePort) }

// startIn does the same with another look at the port that it is to listen on.
func (s *Server) startIn(ctx context.Context, probe func() error) error {
	l, g := s.launch, s.log
	if l.fail.ExitAtStart {
		g.raw("Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\nImportError: libcudart.so.12: cannot open shared object file: No such file or directory")
		return errStart
	}
	s.banner()
	if err := probe(); err != nil {
		s.portInUse()
		return errStart
	}
	if err := s.gather(ctx); err != nil {
		return err
	}
	startup := l.settings.startup()
	if err := s.clock.SleepUntil(ctx, startup/2); err != nil {
		return err
	}
	if l.fail.OutOfMemory || !l.config.WeightsFit() {
		s.outOfMemory()
		return errStart
	}
	if l.fail.NCCLTimeout {
		g.core("ERROR", "core.py:708", "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.3")
		g.core("ERROR", "core.py:708", "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.")
		s.coreFailed()
		return errStart
	}
	if err := s.checkKV(); err != nil {
		return err
	}
	s.ready(startup)
	return s.clock.SleepUntil(ctx, startup+l.fail.SlowStart)
}

// banner writes the first lines.
func (s *Server) banner() {
	l, g := s.launch, s.log
	c := l.config
	g.raw("simulated %s %s, hardware profile %s (%s), time scale %g", l.engine, l.version, c.Profile.Name, c.Profile.Device, l.settings.timeScale())
	g.raw("simulated: %s", l.size())
	if l.engine == engineSGLang {
		g.api("INFO", "", "server_args=ServerArgs(model_path='%s', host='%s', port=%d, context_length=%d, chunked_prefill_size=%d, max_running_requests=%d, disable_radix_cache=%s, enable_mixed_chunk=%s)",
			l.model, l.host, l.port, c.MaxModelLen, c.Budget, c.MaxSeqs, pythonBool(!c.PrefixCache), pythonBool(c.Mixed))
		return
	}
	g.api("INFO", "api_server.py:1839", "vLLM API server version %s", l.version)
	g.api("INFO", "utils.py:233", "args: %q", l.raw)
	if c.Chunked {
		g.api("INFO", "scheduler.py:216", "Chunked prefill is enabled with max_num_batched_tokens=%d.", c.Budget)
	}
	g.core("INFO", "core.py:77", "Initializing a V%d LLM engine (v%s) with config: model='%s', tensor_parallel_size=%d, enable_prefix_caching=%s, chunked_prefill_enabled=%s",
		map[bool]int{true: 0, false: 1}[l.legacy], l.version, l.model, c.GPUs, pythonBool(c.PrefixCache), pythonBool(c.Chunked))
}

// ready writes the lines of a server that has its memory.
func (s *Server) ready(startup time.Duration) {
	l, g, c := s.launch, s.log, s.launch.config
	const gib = 1 << 30
	weights, kv := c.Shape.WeightBytes/gib, float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib
	switch {
	case l.engine == engineSGLang:
		g.api("INFO", "", "Load weight end. type=SimulatedForCausalLM, dtype=torch.bfloat16, avail mem=%.2f GB, mem usage=%.2f GB.", c.Profile.MemBytes/gib-weights, weights)
		g.api("INFO", "", "KV Cache is allocated. #tokens: %d, K size: %.2f GB, V size: %.2f GB", c.KVTokens(), kv/2, kv/2)
		g.api("INFO", "", "max_total_num_tokens=%d, chunked_prefill_size=%d, max_prefill_tokens=16384, max_running_requests=%d, context_len=%d", c.KVTokens(), c.Budget, c.MaxSeqs, c.MaxModelLen)
	case l.legacy:
		g.core("INFO", "model_runner.py:1077", "Loading model weights took %.4f GB", weights)
		g.core("INFO", "gpu_executor.py:122", "# GPU blocks: %d, # CPU blocks: 4681", c.KVBlocks)
		g.core("INFO", "gpu_executor.py:126", "Maximum concurrency for %d tokens per request: %.2fx", c.MaxModelLen, float64(c.KVTokens())/float64(c.MaxModelLen))
	default:
		g.core("INFO", "default_loader.py:267", "Loading weights took %.2f seconds", (startup / 4).Seconds())
		g.core("INFO", "gpu_model_runner.py:2653", "Model loading took %.4f GiB and %.6f seconds", weights, (startup / 2).Seconds())
		g.core("INFO", "gpu_worker.py:298", "Available KV cache memory: %.2f GiB", kv)
		g.core("INFO", "kv_cache_utils.py:1087", "GPU KV cache size: %s tokens", thousands(c.KVTokens()))
		g.core("INFO", "kv_cache_utils.py:1091", "Maximum concurrency for %s tokens per request: %.2fx", thousands(c.MaxModelLen), float64(c.KVTokens())/float64(c.MaxModelLen))
		if !l.eager {
			g.core("INFO", "gpu_model_runner.py:3480", "Graph capturing finished in %.0f secs, took 0.50 GiB", (startup / 4).Seconds())
		}
		g.core("INFO", "core.py:210", "init engine (profile, create kv cache, warmup model) took %.2f seconds", (startup / 2).Seconds())
	}
}

// serving writes the lines of a server that listens.
func (s *Server) serving(addr string) {
	l, g := s.launch, s.log
	if l.engine == engineVLLM && !l.legacy {
		g.api("INFO", "api_server.py:1912", "Starting vLLM API server 0 on http://%s", addr)
	}
	g.uvicorn("Started server process [%d]", g.pid)
	g.uvicorn("Waiting for application startup.")
	g.uvicorn("Application startup complete.")
	if l.engine == engineSGLang || l.legacy {
		g.uvicorn("Uvicorn running on http://%s (Press CTRL+C to quit)", addr)
	}
	if l.engine == engineSGLang && l.kv != nil && !l.fail.NeverReady {
		g.api("INFO", "", "Start of pd disaggregation warmup ...")
		g.api("INFO", "", "End of %s disaggregation mode warmup with status 200, resp: [{'text': ''}]", l.args.str("--disaggregation-mode", ""))
	}
	if l.engine == engineSGLang && !l.fail.NeverReady {
		g.api("INFO", "", "The server is fired up and ready to roll!")
	}
}

func (s *Server) address() string {
	return net.JoinHostPort(s.launch.host, strconv.Itoa(s.launch.port))
}

// probePort finds out early whether the port can be had, as the engines do. It is given
// back until the server is ready, so that clients are refused until then.
func (s *Server) probePort() error {
	if s.launch.fail.PortInUse {
		return errStart
	}
	ln, err := net.Listen("tcp", s.address())
	if err != nil {
		return err
	}
	return ln.Close()
}

func (s *Server) portInUse() {
	l, g := s.launch, s.log
	if l.engine == engineSGLang {
		g.raw("ERROR:    [Errno 98] error while attempting to bind on address ('%s', %d): address already in use", l.host, l.port)
		return
	}
	g.raw("Traceback (most recent call last):\n  File \"/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/api_server.py\", line 1800, in create_server_socket\n    sock.bind(addr)\nOSError: [Errno 98] Address already in use")
}

func (s *Server) outOfMemory() {
	c := s.launch.config
	const gib = 1 << 30
	s.log.core("ERROR", "core.py:708", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %.2f GiB. GPU 0 has a total capacity of %.2f GiB of which %.2f MiB is free.", c.Shape.WeightBytes/gib/8, c.Profile.MemBytes/gib, 42.19)
	s.coreFailed()
}

// coreFailed writes the wrapper that vLLM puts after the root cause.
func (s *Server) coreFailed() {
	l, g := s.launch, s.log
	switch {
	case l.engine == engineSGLang:
		g.api("ERROR", "", "Received sigquit from a child process. It usually means the child failed.")
	case l.legacy:
		g.raw("RuntimeError: Engine process failed to start")
	default:
		g.raw("(APIServer pid=%d) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}", g.pid)
	}
}

// checkKV refuses a cache that cannot hold one request, with the engine's words, and any
// other configuration that the scheduler cannot run.
func (s *Server) checkKV() error {
	l, g, c := s.launch, s.log, s.launch.config
	err := c.Validate()
	if l.fail.KVTooSmall {
		err = model.ErrKVTooSmall
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, model.ErrKVTooSmall):
		g.core("ERROR", "core.py:708", "ValueError: %v", err)
	case l.engine == engineSGLang:
		g.api("ERROR", "", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=%s", l.args.str("--mem-fraction-static", "0.88"))
	case c.KVBlocks == 0:
		g.core("ERROR", "core.py:708", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.")
	case l.legacy:
		g.core("ERROR", "engine.py:366", "The model's max seq len (%d) is larger than the maximum number of tokens that can be stored in KV cache (%d). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.", c.MaxModelLen, c.KVTokens())
	default:
		const gib = 1 << 30
		g.core("ERROR", "core.py:708", "ValueError: To serve at least one request with the model's max seq len (%d), (%.2f GiB KV cache is needed, which is larger than the available KV cache memory (%.2f GiB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
			c.MaxModelLen, float64(c.MaxModelLen)*c.Shape.KVBytesPerToken/gib, float64(c.KVTokens())*c.Shape.KVBytesPerToken/gib)
	}
	s.coreFailed()
	return errStart
}

// stopped writes the lines of an orderly end.
func (s *Server) stopped() {
	g := s.log
	if s.launch.engine == engineVLLM && !s.launch.legacy {
		g.api("INFO", "launcher.py:110", "[shutdown] API server: stopping engine client mode=abort timeout=0s")
	}
	g.uvicorn("Shutting down")
	g.uvicorn("Waiting for application shutdown.")
	g.uvicorn("Application shutdown complete.")
	g.uvicorn("Finished server process [%d]", g.pid)
}

// died writes the lines of an engine that crashed while serving.
func (s *Server) died() {
	l, g := s.launch, s.log
	if l.engine == engineSGLang {
		g.api("ERROR", "", "Scheduler hit an exception: Traceback (most recent call last):\n  File \"/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py\", line 2680, in run_scheduler_process\n    scheduler.event_loop_overlap()\ntorch.AcceleratorError: CUDA error: an illegal memory access was encountered")
		g.api("ERROR", "", "Received sigquit from a child process. It usually means the child failed.")
		return
	}
	g.core("ERROR", "core.py:720", "EngineCore encountered a fatal error.")
	g.core("ERROR", "core.py:720", "Traceback (most recent call last):\n  File \"/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py\", line 711, in run_engine_core\n    engine_core.run_busy_loop()\ntorch.AcceleratorError: CUDA error: an illegal memory access was encountered")
	g.api("ERROR", "async_llm.py:480", "AsyncLLM output_handler failed.")
	g.raw("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.")
}

// usage is what argparse prints before it exits with status 2.
func usage(engine string, argv []string, cause usageError) string {
	program, line := "vllm", "vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ..."
	if strings.HasPrefix(cause.text, "argument ") { // found by the parser of the subcommand
		program, line = "vllm serve", "vllm serve [model_tag] [options]"
	}
	for _, a := range argv {
		if a == "vllm.entrypoints.openai.api_server" {
			program, line = "api_server.py", "api_server.py [-h] [--host HOST] [--port PORT] [--model MODEL] ..."
		}
	}
	if engine == engineSGLang {
		program, line = "launch_server.py", "launch_server.py [-h] --model-path MODEL_PATH [--host HOST] [--port PORT] ..."
	}
	return fmt.Sprintf("usage: %s\n%s: error: %s\n", line, program, cause.text)
}
