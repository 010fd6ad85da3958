package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/simulate/wire"
	"github.com/servegate/pipeline/steps/stamp"
)

// Server is a simulated engine behind HTTP: a driver and the routes of its engine.
type Server struct {
	launch *launch
	clock  clock.Clock
	log    *logger
	stats  *metrics
	driver *driver
	kv     *transfer.Side
	nodes  *nodes
	bed    bed
	pid    int
}

// Options are the options of NewServer that are not part of a real server's command line.
type Options struct {
	Settings Settings
	// Env reads the environment (VLLM_SERVER_DEV_MODE, VLLM_LOG_STATS_INTERVAL); nil means an empty
	// one.
	Env func(string) string
	// Log receives the engine's lines; nil discards them.
	Log io.Writer
	// Clock of the model; nil means a wall clock with the settings' time scale.
	Clock clock.Clock
	// PID in log lines.
	PID int
}

// NewServer resolves the command line of a real server and returns its simulated counterpart, which
// is ready at once: only [Simulator.Main] has start-up times and failures.
func NewServer(argv []string, opt Options) (*Server, error) {
	if opt.Env == nil {
		opt.Env = func(string) string { return "" }
	}
	l, err := Simulator{}.launch(argv, opt.Settings, opt.Env)
	if err != nil {
		return nil, err
	}
	return newServer(l, opt), nil
}

func newServer(l *launch, opt Options) *Server {
	if opt.Log == nil {
		opt.Log = io.Discard
	}
	if opt.Clock == nil {
		opt.Clock = clock.NewWall(l.settings.timeScale())
	}
	interval := 10 * time.Second
	if v, err := time.ParseDuration(opt.Env("VLLM_LOG_STATS_INTERVAL") + "s"); err == nil && v > 0 {
		interval = v
	}
	l.config.Voice = l.settings.voice(l.model)
	return &Server{
		launch: l, clock: opt.Clock, stats: newMetrics(),
		log: newLogger(opt.Log, l, opt.PID, interval), pid: opt.PID,
	}
}

// Open creates the engine and lets peers connect. Handler and Drive can be used after it, and Close
// must follow.
func (s *Server) Open() error {
	l := s.launch
	d, err := newDriver(l.config, l.settings.LaunchSeed, s.clock, l.fail, s.log, s.stats)
	if err != nil {
		return err
	}
	s.driver, d.nodes = d, s.nodes
	if l.kv == nil || l.kv.Exchange == kv.NoExchange {
		return nil
	}
	k, err := transfer.Open(transfer.Options{
		Part: l.transfer(), Config: l.config, EngineID: s.engineID(), Clock: s.clock, TimeScale: l.settings.timeScale(), Log: s.log, Late: d.late,
		Compat: fmt.Sprintf("%s/%s/%d/%g/%s", l.engine.name(), l.model, l.config.BlockSize, l.config.Shape.KVBytesPerToken,
			l.args.str("--kv-cache-dtype", "auto")),
		Recompute: l.fail.Recompute, HandshakeFail: l.fail.HandshakeFail, PeerDies: l.fail.PeerDies, Release: d.release, Die: d.die,
	})
	if err != nil {
		return err
	}
	d.kv, s.kv, s.log.kv = k, k, k
	return nil
}

// engineID returns the ID of this launch for its peers.
func (s *Server) engineID() string {
	h := model.Hash(s.launch.settings.LaunchSeed, []int{s.pid, s.launch.port, len(s.launch.raw)})
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(h), uint16(h>>32), uint16(h>>48)&0xfff, s.launch.port&0xfff, h&0xffffffffffff)
}

// Close disconnects the peers.
func (s *Server) Close() {
	if s.kv != nil {
		s.kv.Close()
	}
}

// Drive runs the engine until ctx ends (nil) or the engine dies (an error).
func (s *Server) Drive(ctx context.Context) error {
	err := s.driver.run(ctx)
	if errors.Is(err, errEngineDead) {
		return err
	}
	return nil
}

// Config returns the configuration that the command line resolved to.
func (s *Server) Config() model.Config { return s.launch.config }

func healthy(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// Handler returns the engine's HTTP interface.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.routesOpenAI(mux)
	s.launch.engine.routes(s, mux)
	return s.access(mux)
}

// run starts, serves until ctx ends, and stops. It returns the exit status of the process.
func (s *Server) run(ctx context.Context) int {
	defer func() { s.nodes.close() }()
	if err := s.start(ctx); err != nil {
		if errors.Is(err, errStart) {
			return 1
		}
		return 0 // stopped while starting
	}
	if err := s.Open(); err != nil {
		s.openFailed(err)
		return 1
	}
	defer s.Close()
	ln, err := net.Listen("tcp", s.address())
	if err != nil {
		s.launch.engine.portInUse(s)
		return 1
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = server.Serve(ln) // returns when it is closed below
	}()
	s.launch.engine.serving(s, ln.Addr().String())
	if s.nodes != nil {
		go s.nodes.watchLoss(ctx, s.driver.die)
	}
	err = s.Drive(ctx)
	// By default vLLM aborts requests in flight, so there is nothing to wait for.
	_ = server.Close()
	<-closed
	switch {
	case err == nil:
		s.launch.engine.stopped(s)
		return 0
	case s.nodes != nil && steps.Ended(s.nodes.lost):
		s.launch.engine.coreFailed(s)
	default:
		s.launch.engine.died(s)
	}
	return 1
}

// arrival returns when a request came: now, or its stamp plus a hop.
func (s *Server) arrival(r *http.Request) time.Duration {
	at, ok := clock.Parse(s.clock, r.Header.Get(stamp.Header))
	if ok {
		at += s.launch.config.Profile.Hop
	}
	return at
}

// stamp marks an answer with the time of its last token, for the next server.
func (s *Server) stamp(w http.ResponseWriter, last token) {
	if s.kv == nil {
		return
	}
	if at := clock.Format(s.clock, last.at); at != "" {
		w.Header().Set(stamp.Header, at)
	}
}

// access writes uvicorn's access log, rejects missing API keys, and rejects requests if the server
// never becomes ready.
func (s *Server) access(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		if s.launch.accessLog {
			defer func() {
				s.log.uvicorn("%s - \"%s %s HTTP/1.1\" %d %s", r.RemoteAddr, r.Method, r.URL.RequestURI(), status.status,
					http.StatusText(status.status))
			}()
		}
		if s.launch.fail.NeverReady {
			status.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if !s.authorized(r) {
			wire.WriteJSON(status, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
			return
		}
		if !s.bed.refuses(status, r) {
			next.ServeHTTP(status, r)
		}
	})
}

// statusWriter stores the status for the access log.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// authorized checks --api-key on the paths that the engines protect.
func (s *Server) authorized(r *http.Request) bool {
	keys := s.launch.args.values["--api-key"]
	if len(keys) == 0 || s.launch.engine.open(r.URL.Path) {
		return true
	}
	for _, k := range keys {
		if r.Header.Get("Authorization") == "Bearer "+k {
			return true
		}
	}
	return false
}

// garbage answers a request for tokens with an HTML page of a proxy.
func (s *Server) garbage(w http.ResponseWriter) bool {
	if !s.launch.fail.Garbage {
		return false
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "<!DOCTYPE html>\n<html><head><title>It works!</title></head><body><h1>It works!</h1></body></html>\n")
	return true
}
