package publish

import (
	"context"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// interruptTime is the time that publishing gets once the program is interrupted: it is killed 10 s after the signal,
// and has servers to stop in that time.
const interruptTime = 3 * time.Second

// AtEnd is the run of a service that only learns the verdict.
type AtEnd struct {
	// Notice is why nothing is posted, "" if that needs no message.
	Notice string
	// Limit is the longest time that posting takes.
	Limit time.Duration
	// Post posts the verdict; nil posts nothing.
	Post func(context.Context, *result.Document) Posted
	// Ended posts that the run has no result; nil posts nothing.
	Ended func(context.Context, error) []string
}

// Start implements Run.
func (r *AtEnd) Start(context.Context) []string {
	if r.Notice == "" {
		return nil
	}
	return []string{r.Notice}
}

// Finish implements Run. It posts the verdict even if the program is interrupted now, within the time that remains.
func (r *AtEnd) Finish(ctx context.Context, doc *result.Document) []string {
	if r.Post == nil {
		return nil
	}
	bounded, cancel := Bounded(ctx, r.Limit)
	defer cancel()
	return Guard(func() []string {
		posted := r.Post(bounded, doc)
		return slices.Concat(posted.Notes, posted.Warnings)
	})
}

// Abort implements Run.
func (r *AtEnd) Abort(ctx context.Context, err error) []string {
	if r.Ended == nil {
		return nil
	}
	bounded, cancel := Bounded(ctx, r.Limit)
	defer cancel()
	return Guard(func() []string { return r.Ended(bounded, err) })
}

// Bounded returns a context that ends after a limit, or shortly after an interruption.
func Bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(interruptTime, cancel) })
	return bounded, func() { stop(); cancel() }
}

// Runs publishes one run on several services. A fault of one does not reach the others.
type Runs []Run

// Start implements Run.
func (rs Runs) Start(ctx context.Context) []string {
	return rs.each(func(r Run) []string { return r.Start(ctx) })
}

// Finish implements Run.
func (rs Runs) Finish(ctx context.Context, doc *result.Document) []string {
	return rs.each(func(r Run) []string { return r.Finish(ctx, doc) })
}

// Abort implements Run.
func (rs Runs) Abort(ctx context.Context, err error) []string {
	return rs.each(func(r Run) []string { return r.Abort(ctx, err) })
}

func (rs Runs) each(publish func(Run) []string) []string {
	var warnings []string
	for _, r := range rs {
		warnings = append(warnings, Guard(func() []string { return publish(r) })...)
	}
	return warnings
}
