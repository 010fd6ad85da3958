package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// errStart ends a launch that failed after writing the engine's own lines.
var errStart = errors.New("the simulated server failed to start")

// start runs the engine's start-up: lines, time, failures. It returns once the server may listen.
func (s *Server) start(ctx context.Context) error { return s.startIn(ctx, s.probePort) }

// startIn does the same with another check of the port.
func (s *Server) startIn(ctx context.Context, probe func() error) error {
	l, g := s.launch, s.log
	if l.fail.ExitAtStart {
		g.raw("Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\nImportError: libcudart.so.12: " +
			"cannot open shared object file: No such file or directory")
		return errStart
	}
	s.banner()
	if err := probe(); err != nil {
		s.launch.engine.portInUse(s)
		return errStart
	}
	if err := s.gather(ctx); err != nil {
		return err
	}
	startup := l.settings.Startup()
	if err := s.clock.SleepUntil(ctx, startup/2); err != nil {
		return err
	}
	if l.fail.OutOfMemory || !l.config.WeightsFit() {
		s.outOfMemory()
		return errStart
	}
	if l.fail.NCCLTimeout {
		g.core("ERROR", "core.py:708", "torch.distributed.DistBackendError: NCCL error in: "+
			"/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:77, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL "+
			"version 2.27.3")
		g.core("ERROR", "core.py:708", "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, "+
			"NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.")
		s.launch.engine.coreFailed(s)
		return errStart
	}
	if err := s.checkKV(); err != nil {
		return err
	}
	s.launch.engine.ready(s, startup)
	return s.clock.SleepUntil(ctx, startup+l.fail.SlowStart)
}

// loopback is the default listen address: the server requires no key by default, and no run needs
// remote access unless it is configured.
const loopback = "127.0.0.1"

func (s *Server) address() string {
	return net.JoinHostPort(s.launch.host, strconv.Itoa(s.launch.port))
}

// probePort checks early whether the port is free, as the engines do. It releases the port until
// the server is ready, so that clients are refused until then.
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

func (s *Server) outOfMemory() {
	c := s.launch.config
	const gib = 1 << 30
	s.log.core("ERROR", "core.py:708", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %.2f GiB. GPU 0 has a total capacity "+
		"of %.2f GiB of which %.2f MiB is free.", c.Shape.WeightBytes/gib/8, c.Profile.MemBytes/gib, 42.19)
	s.launch.engine.coreFailed(s)
}

// banner writes the first lines.
func (s *Server) banner() {
	l, c := s.launch, s.launch.config
	s.log.raw("simulated %s %s, hardware profile %s (%s), time scale %g", l.engine.name(), l.version, c.Profile.Name, c.Profile.Device,
		l.settings.timeScale())
	s.log.raw("simulated: %s", l.size())
}

// checkKV rejects a cache that cannot hold one request, in the engine's words, and any other
// configuration that the scheduler cannot run.
func (s *Server) checkKV() error {
	err := s.launch.config.Validate()
	if s.launch.fail.KVTooSmall {
		err = model.ErrKVTooSmall
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, model.ErrKVTooSmall):
		s.launch.engine.kvTooSmall(s)
	default:
		s.log.core("ERROR", "core.py:708", "ValueError: %v", err)
	}
	s.launch.engine.coreFailed(s)
	return errStart
}

// uvicornReady and uvicornRunning write the lines of the HTTP server.
func (s *Server) uvicornReady() {
	s.log.uvicorn("Started server process [%d]", s.log.pid)
	s.log.uvicorn("Waiting for application startup.")
	s.log.uvicorn("Application startup complete.")
}

func (s *Server) uvicornRunning(addr string) {
	s.log.uvicorn("Uvicorn running on http://%s (Press CTRL+C to quit)", addr)
}

// usage returns the text that argparse prints before it exits with status 2.
func usage(e engine, argv []string, cause usageError) string {
	program, summary := e.usage(argv, cause)
	return fmt.Sprintf("usage: %s\n%s: error: %s\n", summary, program, cause.text)
}

// openFailed writes why a server could not begin to serve after it had its memory.
func (s *Server) openFailed(err error) {
	if errors.Is(err, syscall.EADDRINUSE) {
		s.log.core("ERROR", "core.py:708", "zmq.error.ZMQError: Address already in use (%v)", err)
	} else {
		s.log.core("ERROR", "core.py:708", "ValueError: %v", err)
	}
	s.launch.engine.coreFailed(s)
}
