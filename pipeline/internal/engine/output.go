package engine

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// These limits bound the output of a process that is kept in memory. A failed start of vLLM writes its cause and then a
// traceback for each process that waited: more than the log's own tail.
const (
	maxStartLines  = 4000
	maxRecentLines = 1000
	maxOutputLine  = 2000 // bytes
	maxLogPoints   = 20_000
)

// output writes a member's output to its log and parses the lines. It keeps the first ones for the figures of the
// start, the last ones for the cause of a failure, and all gauges. It is safe for concurrent use.
type output struct {
	next     io.Writer
	observer steps.Observer // nil if the engine cannot be watched
	now      func() time.Time

	mu      sync.Mutex
	current []byte
	start   []string               // the first lines
	recent  []string               // the last lines
	points  []point                // the gauges in lines
	tells   func(line string) bool // reports lines about transfers; nil if no transfer is checked
	traces  []trace
}

// point holds the values that an engine reported at one time.
type point struct {
	at     time.Time
	values map[string]float64
}

func newOutput(next io.Writer, engine steps.Engine, now func() time.Time) *output {
	return &output{next: next, observer: engine.Capabilities().Observer, now: now}
}

// Write parses p and writes it to the log.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxOutputLine - len(o.current); room > 0 {
			o.current = append(o.current, line[:min(room, len(line))]...)
		}
		if rest = after; ended {
			o.line(string(bytes.TrimRight(o.current, "\r")))
			o.current = o.current[:0]
		}
	}
	o.mu.Unlock()
	return o.next.Write(p)
}

func (o *output) line(text string) {
	if len(o.start) < maxStartLines {
		o.start = append(o.start, text)
	}
	if o.recent = append(o.recent, text); len(o.recent) >= 2*maxRecentLines {
		o.recent = append(o.recent[:0], o.recent[maxRecentLines:]...)
	}
	o.traced(text)
	if o.observer == nil {
		return
	}
	if gauges, ok := o.observer.LogPoint(text); ok {
		if len(o.points) >= maxLogPoints {
			o.points = o.points[:copy(o.points, o.points[maxLogPoints/2:])]
		}
		o.points = append(o.points, point{o.now(), gauges})
	}
}

// last returns the last lines so far. Secrets in them are not masked.
func (o *output) last() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	recent := o.recent
	if len(o.current) > 0 {
		recent = append(slices.Clip(recent), string(o.current))
	}
	return append([]string(nil), recent[max(0, len(recent)-maxRecentLines):]...)
}

// figures returns the figures of the start, nil if the engine reports none.
func (o *output) figures() map[string]float64 {
	if o.observer == nil {
		return nil
	}
	o.mu.Lock()
	start := o.start
	o.mu.Unlock()
	facts := o.observer.StartFacts(start)
	if len(facts) == 0 {
		return nil
	}
	return facts
}

// between returns the gauges of lines between two times.
func (o *output) between(from, to time.Time) []point {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []point
	for _, p := range o.points {
		if !p.at.Before(from) && !p.at.After(to) {
			out = append(out, p)
		}
	}
	return out
}
