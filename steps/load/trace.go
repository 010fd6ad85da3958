package load

import (
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// Trace arrivals follow the times of the dataset.
const Trace = "trace"

func traceArrivals() Arrival {
	return Arrival{Name: Trace, Doc: "at the times of a dataset of kind trace"}
}

// scheduleOf returns the planned times of a run's requests (nil for a closed loop), and their number, 0 if it
// is not known beforehand.
func scheduleOf(opt Options, src dataset.Source) ([]time.Duration, int, error) {
	l := opt.Workload.Load
	if l.Recorded() {
		times, err := traceSchedule(l, src)
		return times, len(times), err
	}
	n := opt.Arrivals.Count(l)
	return opt.Arrivals.Schedule(l, n, opt.seeds().Lengths), n, nil
}

// traceSchedule returns the recorded schedule of a trace: its first requests, or those within a duration.
func traceSchedule(l steps.Load, src dataset.Source) ([]time.Duration, error) {
	timed, ok := src.(dataset.Timed)
	if !ok {
		return nil, &dataset.InvalidError{Reason: "arrival \"trace\" needs a dataset of kind trace, which has the times"}
	}
	times := timed.Times(timed.Len())
	if l.Requests > len(times) {
		return nil, &dataset.InvalidError{Reason: fmt.Sprintf("the trace has %d requests, and the load asks for %d", len(times), l.Requests)}
	}
	n := len(times)
	if l.Requests > 0 {
		n = l.Requests
	}
	if l.Duration > 0 {
		n, _ = slices.BinarySearch(times[:n], l.Duration)
	}
	if n == 0 {
		return nil, &dataset.InvalidError{Reason: fmt.Sprintf("the trace has no request within %v", l.Duration)}
	}
	return times[:n], nil
}
