// Package counted computes metrics from counts made during a run. The counts come from the target's servers, the
// machine, the programs read by the file's measures, and the load generator.
package counted

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps/engine"
)

// Tally holds the counts of a run.
type Tally struct {
	rises map[string]float64 // of the servers' counters
	own   map[string]float64 // what the program itself counted: energy, price
	// unknown holds the reasons why increases of counters are unknown; "" is for a server whose metrics could not be
	// read.
	unknown map[string]error
	// replicas holds the tokens of each server, by its role.
	replicas     map[string][]float64
	client       map[string]float64 // what the load generator counted
	programs     []*Program
	began, ended time.Time
}

// New returns an empty tally of a run that lasted from its first measured request to its last answer.
func New(began, ended time.Time) *Tally {
	return &Tally{
		rises: map[string]float64{}, own: map[string]float64{}, unknown: map[string]error{}, replicas: map[string][]float64{},
		client: map[string]float64{}, began: began, ended: ended,
	}
}

// Add adds to a counter that no server keeps. It is known also where the metrics of a server could not be read.
func (t *Tally) Add(counter string, rise float64) { t.own[counter] += rise }

// Unknown records why the increase of a counter is unknown.
func (t *Tally) Unknown(counter string, why error) { t.unknown[counter] = why }

// Client records the load generator's counts and its measured time in seconds.
func (t *Tally) Client(requests, outputTokens, seconds float64) {
	t.client[metric.SentRequests], t.client[metric.OutputTokens], t.client[metric.MeasuredSeconds] = requests, outputTokens, seconds
}

// AddServer adds the increases of the counters of a server with a role.
func (t *Tally) AddServer(before, after map[string]float64, server, role string) {
	if _, counts := after[metric.CounterPromptTokens]; counts {
		tokens := 0.0
		for _, name := range []string{metric.CounterPromptTokens, metric.CounterGenerationTokens} {
			tokens += after[name] - before[name]
		}
		t.replicas[role] = append(t.replicas[role], tokens)
	}
	for name, now := range after {
		rise := now - before[name]
		if rise < 0 {
			t.Unknown(name, fmt.Errorf("%s fell from %g to %g: the server was restarted or has reset it", name, before[name], now))
		}
		t.rises[name] += rise
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Unknown(name, fmt.Errorf("%s disappeared from the metrics of %s", name, server))
		}
	}
}

// Unread records that the metrics of a server could not be read, which makes all counters of its target's servers unknown.
func (t *Tally) Unread(server string, why error) {
	t.Unknown("", fmt.Errorf("the metrics of %s could not be read: %w", server, why))
}

// Read adds programs that the file's measures were read from.
func (t *Tally) Read(programs []*Program) { t.programs = append(t.programs, programs...) }

// Programs returns the programs that were read.
func (t *Tally) Programs() []*Program { return t.programs }

// rise returns the increase of a counter, or an error if it is unknown.
func (t *Tally) rise(name string) (float64, error) {
	if n, counted := t.client[name]; counted {
		return n, nil
	}
	if err := t.unknown[name]; err != nil {
		return 0, err
	}
	if n, counted := t.own[name]; counted {
		return n, nil
	}
	if err := t.unknown[""]; err != nil {
		return 0, err
	}
	rise, there := t.rises[name]
	if name == metric.CounterReplicaMean || name == metric.CounterReplicaMost {
		rise, there = t.replica(name)
	}
	if !there {
		return 0, errNotCounted
	}
	return rise, nil
}

// replica returns the tokens of the mean or of the busiest of several servers, false if not all of them serve alike.
func (t *Tally) replica(name string) (float64, bool) {
	if len(t.replicas) != 1 || t.unknown[metric.CounterPromptTokens] != nil || t.unknown[metric.CounterGenerationTokens] != nil {
		return 0, false
	}
	for _, tokens := range t.replicas {
		most, sum := slices.Max(tokens), 0.0
		for _, n := range tokens {
			sum += n
		}
		if len(tokens) < 2 {
			return 0, false
		}
		if name == metric.CounterReplicaMost {
			return most, true
		}
		return sum / float64(len(tokens)), true
	}
	return 0, false
}

// lasting marks errors that persist when the measurement is repeated.
type lasting struct{ error }

// Lasting marks an error as one that persists when the measurement is repeated.
func Lasting(err error) error { return lasting{err} }

var errNotCounted = lasting{errors.New("nothing counts what it is made of")}

// Permanent reports whether an error persists when the measurement is repeated.
func Permanent(err error) bool {
	_, ok := errors.AsType[lasting](err)
	return ok || errors.Is(err, engine.ErrKind)
}
