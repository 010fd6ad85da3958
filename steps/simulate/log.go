package simulate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// logger writes lines in the engine's own format. It is safe for concurrent use.
type logger struct {
	mu  sync.Mutex
	w   io.Writer
	now func() time.Time
	pid int
	l   *launch

	// Windows of the periodic lines, in model time, guarded by the driver's own lock.
	since      time.Duration
	prompt     int
	output     int
	decodes    int
	throughput float64
	interval   time.Duration
	idle       bool
	kv         *kvSide // nil without a KV transfer
}

func newLogger(w io.Writer, l *launch, pid int, now func() time.Time, interval time.Duration) *logger {
	return &logger{w: w, now: now, pid: pid, l: l, interval: interval, idle: true}
}

// raw writes one line as it is.
func (g *logger) raw(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.w, format+"\n", args...)
}

// api writes a line of the API server: "(APIServer pid=7) INFO 09-02 13:08:10 [file:line] text"
// with V1, "INFO 09-02 13:08:10 file:line] text" before, "[2026-09-02 13:08:10] text" for SGLang.
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
func (g *logger) Now() time.Time  { return g.now() }
func (g *logger) PID() int        { return g.pid }

func (g *logger) line(process, level, source, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t := g.now()
	switch {
	case g.l.engine == engineSGLang:
		g.raw("[%s] %s", t.Format("2006-01-02 15:04:05"), text)
	case g.l.legacy:
		g.raw("%s %s %s] %s", level, t.Format("01-02 15:04:05"), source, text)
	default:
		g.raw("(%s pid=%d) %s %s [%s] %s", process, g.pid, level, t.Format("01-02 15:04:05"), source, text)
	}
}

// uvicorn writes a line of the HTTP server.
func (g *logger) uvicorn(format string, args ...any) {
	text := "INFO:     " + fmt.Sprintf(format, args...)
	if g.l.engine == engineVLLM && !g.l.legacy {
		text = fmt.Sprintf("(APIServer pid=%d) %s", g.pid, text)
	}
	if g.l.engine == engineSGLang {
		text = fmt.Sprintf("[%s] %s", g.now().Format("2006-01-02 15:04:05"), text)
	}
	g.raw("%s", text)
}

// step writes the periodic lines that fall due with a step.
func (g *logger) step(step model.Step, st model.Stats) {
	if !g.l.logStats {
		return
	}
	if g.l.engine == engineSGLang {
		g.stepSGLang(step, st)
		return
	}
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

func (g *logger) statsVLLM(d time.Duration, st model.Stats) {
	in, out := float64(st.PromptTokens-g.prompt)/d.Seconds(), float64(st.OutputTokens-g.output)/d.Seconds()
	if g.l.legacy {
		g.api("INFO", "metrics.py:449", "Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Swapped: 0 reqs, Pending: %d reqs, GPU KV cache usage: %.1f%%, CPU KV cache usage: 0.0%%.",
			in, out, st.Running, st.Waiting, 100*st.KVUsage)
		return
	}
	g.api("INFO", "loggers.py:127", "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%",
		in, out, st.Running, st.Waiting, 100*st.KVUsage, 100*hitRate(st))
}

// decodeLogInterval is SGLang's --decode-log-interval default, in decode steps.
const decodeLogInterval = 40

func (g *logger) stepSGLang(step model.Step, st model.Stats) {
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
	g.api("INFO", "", "Decode batch, #running-req: %d, #token: %d, token usage: %.2f, cuda graph: %s, gen throughput (token/s): %.2f, #queue-req: %d, ",
		st.Running, int(st.KVUsage*float64(g.l.config.KVTokens())), st.KVUsage, pythonBool(!g.l.eager), g.throughput, st.Waiting)
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// thousands prints 643232 as 643,232.
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
