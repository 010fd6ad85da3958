// Package counted makes metrics of what was counted while a run was measured: by the servers of its target, by the
// machine, by the programs that measures of the file read, and by the load generator.
package counted

import (
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps/engine"
)

// Tally holds what was counted during a run.
type Tally struct {
	rises map[string]float64
	// unknown says why what a counter rose by is not known; of a server whose metrics could not be
	// read, under "".
	unknown      map[string]error
	client       map[string]float64 // what the load generator counted
	programs     []*Program
	began, ended time.Time
}

// New returns an empty tally of a run that lasted from its first measured request to its last answer.
func New(began, ended time.Time) *Tally {
	return &Tally{rises: map[string]float64{}, unknown: map[string]error{}, client: map[string]float64{}, began: began, ended: ended}
}

// Add adds what a counter rose by.
func (t *Tally) Add(counter string, rise float64) { t.rises[counter] += rise }

// Unknown notes why it is not known what a counter rose by.
func (t *Tally) Unknown(counter string, why error) { t.unknown[counter] = why }

// Client notes what the load generator counted, and for how long it measured.
func (t *Tally) Client(requests, outputTokens, seconds float64) {
	t.client[metric.SentRequests], t.client[metric.OutputTokens], t.client[metric.MeasuredSeconds] = requests, outputTokens, seconds
}

// AddServer adds what the counters of a server rose by.
func (t *Tally) AddServer(before, after map[string]float64, server string) {
	for name, now := range after {
		rise := now - before[name]
		if rise < 0 {
			t.Unknown(name, fmt.Errorf("%s fell from %g to %g: the server was restarted or has reset it", name, before[name], now))
		}
		t.Add(name, rise)
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Unknown(name, fmt.Errorf("%s is no longer among the metrics of %s", name, server))
		}
	}
}

// Unread notes that the metrics of a server could not be read, so that nothing of its target is known.
func (t *Tally) Unread(server string, why error) {
	t.Unknown("", fmt.Errorf("the metrics of %s could not be read: %w", server, why))
}

// Read adds the programs that the measures of the file were read from.
func (t *Tally) Read(programs []*Program) { t.programs = append(t.programs, programs...) }

// Programs returns those that were read.
func (t *Tally) Programs() []*Program { return t.programs }

// rise of a counter, or why it is not known.
func (t *Tally) rise(name string) (float64, error) {
	if n, counted := t.client[name]; counted {
		return n, nil
	}
	for _, key := range []string{"", name} {
		if err := t.unknown[key]; err != nil {
			return 0, err
		}
	}
	rise, there := t.rises[name]
	if !there {
		return 0, errNotCounted
	}
	return rise, nil
}

// lasting is in the chain of errors about what measuring again does not change.
type lasting struct{ error }

// Lasting marks an error about what measuring again does not change.
func Lasting(err error) error { return lasting{err} }

var errNotCounted = lasting{errors.New("nothing counts what it is made of")}

// Permanent reports whether measuring again does not change an error.
func Permanent(err error) bool {
	_, ok := errors.AsType[lasting](err)
	return ok || errors.Is(err, engine.ErrKind)
}
