package simulate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// logger writes lines in the engine's format. It is safe for concurrent use.
type logger struct {
	mu  sync.Mutex
	w   io.Writer
	pid int
	l   *launch
	// started is the start of the process, by its own clock.
	started time.Time

	// Windows of the periodic lines, in model time, guarded by the driver's lock.
	since      time.Duration
	prompt     int
	output     int
	decodes    int
	throughput float64
	interval   time.Duration
	idle       bool
	kv         *transfer.Side // nil without a KV transfer
}

func newLogger(w io.Writer, l *launch, pid int, interval time.Duration) *logger {
	return &logger{w: w, pid: pid, l: l, started: time.Now(), interval: interval, idle: true}
}

// raw writes one line unchanged.
func (g *logger) raw(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.w, format+"\n", args...)
}

// api writes a line of the API server.
func (g *logger) api(level, source, format string, args ...any) {
	g.line("APIServer", level, source, format, args...)
}

// core writes a line of the engine's process.
func (g *logger) core(level, source, format string, args ...any) {
	g.line("EngineCore_DP0", level, source, format, args...)
}

// Engine, Raw, Now and PID implement [kv.Log].
func (g *logger) Engine(level, source, format string, args ...any) {
	g.core(level, source, format, args...)
}

func (g *logger) Raw(line string) { g.raw("%s", line) }
func (g *logger) Now() time.Time  { return time.Now() }
func (g *logger) PID() int        { return g.pid }

func (g *logger) line(process, level, source, format string, args ...any) {
	g.raw("%s", g.l.engine.line(g, process, level, source, fmt.Sprintf(format, args...)))
}

// uvicorn writes a line of the HTTP server.
func (g *logger) uvicorn(format string, args ...any) {
	g.raw("%s", g.l.engine.access(g, "INFO:     "+fmt.Sprintf(format, args...)))
}

// step writes the periodic lines that are due after a step.
func (g *logger) step(step model.Step, st model.Stats) {
	if g.l.logStats {
		g.l.engine.step(g, step, st)
	}
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// thousands formats 643232 as 643,232.
func thousands(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
