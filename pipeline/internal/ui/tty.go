package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

const (
	// frameGap is the shortest time between two frames that show only progress.
	frameGap = 100 * time.Millisecond
	// tickGap is the interval of redrawing without events, so that clocks advance.
	tickGap = 500 * time.Millisecond
)

// tty writes milestones and redraws the live area below them.
type tty struct {
	opt Options

	mu    sync.Mutex
	out   sink
	state state
	drawn int       // lines of the live area on the screen
	last  time.Time // of the last frame
	over  bool

	once    sync.Once
	stop    chan struct{}
	stopped chan struct{}
}

// NewTTY returns the view for a terminal. It redraws in a goroutine that Close ends.
func NewTTY(w io.Writer, opt Options) View {
	v := &tty{opt: opt, out: sink{w: w}, stop: make(chan struct{}), stopped: make(chan struct{})}
	go v.tick()
	return v
}

func (v *tty) tick() {
	defer close(v.stopped)
	ticks := v.opt.Tick
	if ticks == nil {
		ticker := time.NewTicker(tickGap)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ticks:
			v.redraw()
		case <-v.stop:
			return
		}
	}
}

// Handle writes the permanent lines of e, and the live area.
func (v *tty) Handle(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.handle(e)
	if e.Type == event.Summary {
		v.over = true
	}
	if lines := milestones(e); len(lines) > 0 {
		v.draw(lines)
	} else if v.opt.now().Sub(v.last) >= frameGap {
		v.draw(nil)
	}
}

// redraw shows the same state at a later time.
func (v *tty) redraw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.drawn > 0 && v.opt.now().Sub(v.last) >= frameGap {
		v.draw(nil)
	}
}

// draw replaces the live area by lines and a new live area, in one write. Each line erases the rest of its row,
// which avoids flicker.
func (v *tty) draw(lines []line) {
	now, width := v.opt.now(), v.opt.width()
	// Keep the last column free: some terminals wrap when it is written.
	columns := max(1, width-1)
	var frame []string
	if !v.over && !v.state.began.IsZero() {
		frame = v.state.frame(now, columns)
	}
	var b strings.Builder
	b.WriteString(up(v.drawn))
	for _, l := range lines {
		v.milestone(&b, l, columns)
	}
	for _, l := range frame {
		b.WriteString(l + eraseRight + "\n")
	}
	if v.drawn > 0 {
		b.WriteString(eraseBelow)
	}
	v.out.write(b.String())
	v.drawn, v.last = len(frame), now
}

// milestone writes a line, wrapped over several rows if necessary.
func (v *tty) milestone(b *strings.Builder, l line, columns int) {
	rows := []string{term.Cut(l.text, columns-4)}
	if l.tone != logged {
		rows = term.Wrap(l.text, columns-4)
	}
	sign := mark(v.opt.Color, l.tone)
	if l.tone == detail || l.tone == logged {
		sign = "  " + sign
	}
	for _, r := range rows {
		b.WriteString(sign + " " + paint(v.opt.Color, l.tone, r) + eraseRight + "\n")
		sign = " "
		if l.tone == detail {
			sign = "   "
		}
	}
}

// Close erases the live area. If the run did not end, it writes how far the run came.
func (v *tty) Close() error {
	v.once.Do(func() { close(v.stop) })
	<-v.stopped
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over && v.drawn > 0 {
		v.over = true
		v.draw([]line{{neutral, v.state.farewell(v.opt.now())}})
	}
	return closeError(v.out.err)
}

// farewell describes the last state in one line.
func (s *state) farewell(now time.Time) string {
	text := "stopped after " + clock(s.elapsed(now))
	if s.total > 0 {
		text += fmt.Sprintf(", %d of %s done", s.doneRuns, humanize.Count(s.total, "run"))
	}
	return text
}

// Control sequences (ECMA-48) for redrawing.
const (
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// up moves the cursor to the start of the line n lines above.
func up(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", n)
}
