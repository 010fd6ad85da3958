package engine

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// Measurement executes a plan in parts: it prepares, then it measures up to each look of the plan. The caller takes the
// looks and passes their results to Take.
type Measurement struct {
	r *runner
	// ctx is the context of all parts. It ends with the caller's, and with the timeout of the plan.
	ctx  context.Context
	stop func() // ends the heartbeat and the timeout

	left [][]plan.Repeat // rounds that have not begun
	last int             // the last repeat before the look that is due
	over bool
	err  error // why the run failed
}

// Start starts executing a plan. It returns ErrPlanChanged if the run to resume has another plan. The caller must call
// End.
//
// When ctx ends, requests are cancelled, all servers are stopped with a short grace, and the current method returns
// within some 5 seconds.
func Start(ctx context.Context, options Options) (*Measurement, error) {
	r := newRunner(options.withDefaults())
	if r.o.Resume != nil {
		if err := r.o.Resume.check(r.plan); err != nil {
			return nil, err
		}
	}
	cancel := func() {}
	if r.plan.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, seconds(r.plan.Timeout), errTimeout)
	}
	stopHeart := r.heartbeat(ctx)
	return &Measurement{r: r, ctx: ctx, left: besides(r.plan.Rounds()), stop: func() { stopHeart(); cancel() }}, nil
}

// Prepare examines the machine, executes the steps of the file and pulls images.
func (m *Measurement) Prepare() {
	for _, part := range []func(context.Context) error{m.r.begin, m.r.steps, m.r.images} {
		if m.err = part(m.ctx); m.err != nil {
			m.over = true
			return
		}
	}
}

// Measure measures up to the next look and reports whether one is due. If none is, the measurement is over.
func (m *Measurement) Measure() (look bool) {
	if m.over {
		return false
	}
	look, m.err = m.advance()
	m.over = !look
	return look
}

// advance executes rounds until a look is due or no round is left. It measures void runs again before a look, so that
// the look has all its pairs.
func (m *Measurement) advance() (look bool, err error) {
	for len(m.left) > 0 {
		if m.r.outOfBudget(m.left) {
			return false, m.r.stopAtTheEnd()
		}
		round := m.left[0]
		m.left = m.left[1:]
		if over, err := m.r.round(m.ctx, round); err != nil || over {
			return false, err
		}
		if m.r.looksAfter(round) {
			m.last = round[len(round)-1].Index
			over, err := m.r.replace(m.ctx)
			return err == nil && !over, err
		}
	}
	if over, err := m.r.replace(m.ctx); err != nil || over {
		return false, err
	}
	return false, m.r.stopAtTheEnd()
}

// Outcome returns the measurements so far.
func (m *Measurement) Outcome() *Outcome { return m.r.out }

// Take ends the measurement if the look shows that no more measurements are needed. err states why the look could not
// be taken, which fails the run.
func (m *Measurement) Take(l judge.Look, err error) {
	if err == nil {
		m.over, err = m.r.look(l, m.last)
	}
	if err != nil {
		m.over, m.err = true, err
	}
}

// End returns the measurements however the run ended. The outcome holds the status and its reason. The error is nil or
// a *ConfigError, which comes with an outcome.
func (m *Measurement) End() (*Outcome, error) {
	defer m.stop()
	return m.r.finish(m.ctx, m.err)
}

// Run executes the plan and calls look at each look of the plan. It returns the results of Start and End.
func Run(ctx context.Context, options Options, look func(*Outcome) (judge.Look, error)) (*Outcome, error) {
	m, err := Start(ctx, options)
	if err != nil {
		return nil, err
	}
	m.Prepare()
	for m.Measure() {
		m.Take(look(m.Outcome()))
	}
	return m.End()
}
