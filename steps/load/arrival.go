package load

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
)

// Arrival is one load model: it determines when the requests of a run are sent. To add one, write a value of
// this type in a separate file and list it in [AllArrivals]; no other code depends on its name. Two models
// are not only schedules, and [steps.Load] distinguishes them: users who wait for answers (Closed), and the
// times of a dataset (Recorded).
//
//  1. A file is loaded: Takes decodes and documents the arguments of the load block. Those
//     without a field in [steps.Load] become its Options, of which [steps.Load.Number] reads the numbers; a duration is
//     a number of nanoseconds. Fill and Check see the evaluated load.
//  2. A plan is made: Expected returns the number of requests within a duration.
//  3. A run begins: Times draws when its requests are sent.
type Arrival struct {
	// Name is the value of the argument arrival.
	Name string
	// Doc describes in a few words when requests are sent.
	Doc string
	// Takes lists the model's arguments and blocks, in addition to those of every load. An argument has no Default, which
	// would set it for all other models, too: Fill sets it.
	Takes steps.Schema
	// Fill, if not nil, sets the defaults of a load.
	Fill func(*steps.Load)
	// Check returns a problem of the load, or nil. given reports whether an argument is set.
	Check func(l steps.Load, given func(argument string) bool) *steps.Problem
	// Expected returns the mean number of requests of a load within its duration. It is nil if no schedule
	// determines it.
	Expected func(steps.Load) float64
	// Times draws when n requests are sent, ascending, from the start of the run. It must use no randomness
	// other than src and must not change: a stored seed gives the same times in every version. It is nil if
	// the times do not depend on a seed.
	Times func(l steps.Load, n int, src *rand.PCG) []time.Duration
}

// takes reports whether loads of this model have an argument or block that not all models have.
func (a Arrival) takes(name string) bool {
	_, ok := a.Takes.Attr(name)
	return ok || slices.ContainsFunc(a.Takes.Blocks, func(b steps.BlockSchema) bool { return b.Type == name })
}

// HasRate reports whether the load model sends at a rate.
func (a Arrival) HasRate() bool { return a.takes(rate.Name) }

// Arrivals are the load models of a program, in the order of the documentation. Nil selects all models of
// this program.
type Arrivals []Arrival

// AllArrivals returns the load models of this program.
func AllArrivals() Arrivals {
	return Arrivals{poissonArrivals(), gammaArrivals(), constantArrivals(), unlimitedArrivals(), traceArrivals(), closedArrivals()}
}

func (a Arrivals) all() Arrivals {
	if a == nil {
		return AllArrivals()
	}
	return a
}

// Lookup finds a load model by its name.
func (a Arrivals) Lookup(name string) (Arrival, error) {
	all := a.all()
	i := slices.IndexFunc(all, func(m Arrival) bool { return m.Name == name })
	if i < 0 {
		return Arrival{}, fmt.Errorf("load: unknown arrival %q, expected one of %s", name, all.values())
	}
	return all[i], nil
}

// DefaultArrival returns the name of the load model that the arguments imply if a file names none.
func DefaultArrival(given func(argument string) bool) string {
	switch {
	case given(burstiness.Name):
		return Gamma
	case given(rate.Name), given("search"):
		return Poisson
	}
	return Unlimited
}

func (a Arrivals) values() enum.Values {
	var out enum.Values
	for _, m := range a.all() {
		out = append(out, enum.Value{Name: m.Name, Doc: m.Doc})
	}
	return out
}

// Schema returns the arguments and blocks for arrivals: the argument arrival, and the arguments of all
// models.
func (a Arrivals) Schema() steps.Schema {
	name := arrival
	name.Enum = a.values()
	s := steps.Schema{Attrs: []steps.Attr{name}}
	for _, m := range a.all() {
		for _, attr := range m.Takes.Attrs {
			if _, there := s.Attr(attr.Name); !there {
				s.Attrs = append(s.Attrs, attr)
			}
		}
		for _, b := range m.Takes.Blocks {
			if !slices.ContainsFunc(s.Blocks, func(other steps.BlockSchema) bool { return other.Type == b.Type }) {
				s.Blocks = append(s.Blocks, b)
			}
		}
	}
	return s
}

// Problem returns the first problem of a load, or nil. given reports whether an argument or block of the load
// is set.
func (a Arrivals) Problem(l steps.Load, given func(argument string) bool) *steps.Problem {
	m, err := a.Lookup(l.Arrival)
	if err != nil {
		return &steps.Problem{Path: []string{arrival.Name}, Summary: fmt.Sprintf("unknown arrival %q", l.Arrival),
			Detail: fmt.Sprintf("Write one of %s.", a.values())}
	}
	if p := a.foreign(m, l, given); p != nil {
		return p
	}
	if m.Check != nil {
		if p := m.Check(l, given); p != nil {
			return p
		}
	}
	if m.Expected != nil && !given("requests") && a.Count(l) == 0 {
		return &steps.Problem{Path: []string{"duration"}, Summary: "load sends no request",
			Detail: fmt.Sprintf("A rate of %g brings none within %s. Raise one of them.", l.Rate, l.Duration)}
	}
	return nil
}

// foreign returns a problem if an argument of other models is set that this one does not have.
func (a Arrivals) foreign(m Arrival, l steps.Load, given func(argument string) bool) *steps.Problem {
	s := a.Schema()
	names := make([]string, 0, len(s.Attrs)+len(s.Blocks))
	for _, attr := range s.Attrs[1:] { // the first is the arrival itself
		names = append(names, attr.Name)
	}
	for _, b := range s.Blocks {
		names = append(names, b.Type)
	}
	for _, name := range names {
		if !given(name) || m.takes(name) {
			continue
		}
		if name == burstiness.Name && l.Burstiness == 1 {
			continue // gaps as without it, so that a matrix over it can continue with another arrival
		}
		var others []string
		for _, other := range a.all() {
			if other.takes(name) {
				others = append(others, other.Name)
			}
		}
		last := len(others) - 1
		choose := others[last]
		if last > 0 {
			choose = strings.Join(others[:last], ", ") + " or " + choose
		}
		return &steps.Problem{Path: []string{name}, Summary: fmt.Sprintf("arrival %q has no %s", m.Name, name),
			Detail: fmt.Sprintf("Remove it, or choose %s.", choose)}
	}
	return nil
}

// Check returns an error for a load that cannot be sent.
func (a Arrivals) Check(l steps.Load) error {
	if l.Requests < 0 || l.Duration < 0 || l.MaxConcurrency < 0 || l.Ramp < 0 {
		return errors.New("load: requests, duration, max_concurrency and ramp must not be negative")
	}
	if l.Requests == 0 && l.Duration == 0 {
		return errors.New("load: set requests or duration, otherwise the run has no end")
	}
	if p := a.Problem(l, arguments(l)); p != nil {
		return fmt.Errorf("load: %s. %s", p.Summary, strings.TrimSuffix(p.Detail, "."))
	}
	return nil
}

// arguments reports which arguments of a load are set.
func arguments(l steps.Load) func(argument string) bool {
	set := map[string]bool{
		rate.Name: l.Rate != 0, burstiness.Name: l.Burstiness != 0, ramp.Name: l.Ramp != 0 || l.RampFrom != 0,
		thinkTime.Name: l.ThinkTime != 0, "requests": l.Requests != 0, "duration": l.Duration != 0, "max_concurrency": l.MaxConcurrency != 0,
		"search": l.Search != nil,
	}
	return func(name string) bool {
		_, option := l.Options[name]
		return option || set[name]
	}
}

// Count returns the number of requests of a load: Requests, or the mean number that its schedule has in
// Duration (so that two seeds have the same number of requests), whichever is less. It is 0 if the number is
// known only after the run: in a closed loop or a trace bounded by time.
func (a Arrivals) Count(l steps.Load) int {
	m, err := a.Lookup(l.Arrival)
	if err != nil || m.Expected == nil || l.Duration == 0 {
		return l.Requests
	}
	n := int(math.Round(m.Expected(l)))
	if l.Requests > 0 {
		n = min(n, l.Requests)
	}
	return n
}

// Text describes in a few words when the requests of a load are sent: "poisson 4/s".
func (a Arrivals) Text(l steps.Load) string {
	var text strings.Builder
	text.WriteString(l.Arrival)
	if in := l.Search; in != nil {
		fmt.Fprintf(&text, ", %s searched from %g to %g", l.Searches(), in.Min, in.Max)
	}
	if l.Rate > 0 {
		fmt.Fprintf(&text, " %g/s", l.Rate)
	}
	if l.Burstiness > 0 && l.Burstiness != 1 {
		fmt.Fprintf(&text, " burstiness %g", l.Burstiness)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Options)) {
		fmt.Fprintf(&text, " %s %s", name, a.optionText(l, name))
	}
	return text.String()
}

// optionText formats the value of an argument that only some load models have. A duration is a number of nanoseconds.
func (a Arrivals) optionText(l steps.Load, name string) string {
	if attr, ok := a.Schema().Attr(name); ok && attr.Unit == steps.UnitDuration {
		return time.Duration(l.Number(name)).String()
	}
	return fmt.Sprint(l.Options[name])
}
