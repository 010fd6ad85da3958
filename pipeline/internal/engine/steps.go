package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// steps executes all steps in plan order. A failing step ends the run.
func (r *runner) steps(ctx context.Context) error {
	for _, s := range r.plan.Steps {
		if r.o.Resume != nil {
			if done, outputs, ok := r.o.Resume.finished(s.Addr); ok {
				// Reuse the outputs, so that the run continues to measure the same thing.
				r.learn(s.Addr, outputs)
				r.out.Steps = append(r.out.Steps, done)
				continue
			}
		}
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) step(ctx context.Context, s plan.Step) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.plan.Simulated != "" {
		r.endStep(result.Step{Addr: s.Addr, Status: result.StepSkipped}, nil, s.Addr+": skipped, as in every simulated run")
		return r.bus.Err()
	}
	spec, err := r.o.Step(s.Addr, r.out.Outputs)
	if err != nil {
		return &ConfigError{Addr: s.Addr, Err: err}
	}
	key := spec.Object.Text("cache")
	if outputs, ok := r.cached(s.Addr, key); ok {
		r.learn(s.Addr, outputs)
		r.endStep(result.Step{Addr: s.Addr, Status: result.StepCached}, outputs, s.Addr+": cached")
		return r.bus.Err()
	}
	r.bus.Emit(event.Event{Type: event.StepStart, Addr: s.Addr, Range: &s.Range, Text: s.Addr})
	done, outputs, err := r.carryOut(ctx, s, spec)
	if err != nil {
		r.endStep(done, nil, fmt.Sprintf("%s failed: %v", s.Addr, err))
		if errors.Is(err, steps.ErrUnsupported) {
			return &ConfigError{Addr: s.Addr, Err: err}
		}
		return fmt.Errorf("%s: %w", s.Addr, err)
	}
	switch {
	case key == "" || r.o.Cache == nil:
	case r.secret(outputs):
		r.warn(fmt.Sprintf("%s is not cached, since its outputs hold a secret", s.Addr))
	default:
		if err := r.o.Cache.Store(s.Addr, key, outputs); err != nil {
			r.warn(err.Error()) // the step is done; only the next run must repeat it
		}
	}
	r.endStep(done, outputs, fmt.Sprintf("%s: done in %s", s.Addr, short(seconds(done.Duration))))
	return r.bus.Err()
}

func (r *runner) cached(addr, key string) (map[string]string, bool) {
	if key == "" || r.o.Cache == nil {
		return nil, false
	}
	return r.o.Cache.Load(addr, key)
}

// carryOut runs a step's action with its log.
func (r *runner) carryOut(ctx context.Context, s plan.Step, spec StepSpec) (result.Step, map[string]string, error) {
	done := result.Step{Addr: s.Addr, Status: result.StepDone}
	log, err := r.o.Store.Log(s.Addr)
	if err != nil {
		done.Status = result.StepFailed
		return done, nil, err
	}
	done.Log = log.Path()
	env := r.o.Env
	env.Log = log
	began := r.o.Now()
	outputs, err := spec.Action.Run(ctx, env, spec.Object)
	done.Duration = r.o.Now().Sub(began).Seconds()
	if err == nil {
		r.learn(s.Addr, outputs) // before the log is closed, which may contain them
	}
	closed := log.Close()
	if err != nil {
		done.Status = result.StepFailed
		done.Failure = &result.Failure{
			Phase: "step", Class: "step_failed", Evidence: r.o.Redact.String(err.Error()),
			LogTail: log.Tail(), Range: s.Range,
		}
		return done, nil, err
	}
	return done, outputs, closed
}

// learn records the outputs of a step, and masks the secrets in them from now on.
func (r *runner) learn(addr string, outputs map[string]string) {
	r.out.Outputs[addr] = maps.Clone(outputs)
	r.o.Redact.Learn(r.o.Secrets(r.out.Outputs)...)
}

// secret reports whether outputs contain masked text.
func (r *runner) secret(outputs map[string]string) bool {
	for _, value := range outputs {
		if r.o.Redact.String(value) != value {
			return true
		}
	}
	return false
}

// endStep records a step with its outputs.
func (r *runner) endStep(s result.Step, outputs map[string]string, text string) {
	r.bus.Emit(event.Event{
		Type: event.StepEnd, Addr: s.Addr, Step: &s, Outputs: outputs, Failure: s.Failure, Text: r.o.Redact.String(text),
	})
}

// short formats a duration: to a tenth of a second below a minute, else to a second.
func short(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
