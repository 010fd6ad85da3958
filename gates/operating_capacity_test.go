package gates_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/capacity"
	"github.com/servegate/pipeline/gates/metric"
)

// carrier is a server by the headroom of its probes: the mean and standard deviation over
// draws of arrivals at loads around its capacity.
type carrier struct {
	Label string `json:"server"`
	// U are the logarithms of load over capacity.
	U        []float64 `json:"ln_load"`
	Headroom []float64 `json:"headroom"`
	SD       []float64 `json:"sd"`
}

// unseen are servers that nothing of the method was chosen by, heldOut those of which the mean was in sight when its last constant was
// settled, and tuned those that it was made with. The first five of unseen and of heldOut are the simulator's
// (TestServersOfCapacities in pipeline/internal/session draws them), and so are the first three of tuned, measured at each load in virtual
// time with 1,000 requests a probe (examples/capacity with the prompts and flags that are named); the rest is made up.
// examples/capacity/planners.py reads the same files.
var (
	unseen  = sync.OnceValue(func() []carrier { return readCarriers("testdata/capacity_unseen.json") })
	heldOut = sync.OnceValue(func() []carrier { return readCarriers("testdata/capacity_held_out.json") })
	tuned   = sync.OnceValue(func() []carrier { return readCarriers("testdata/capacity_servers.json") })
	// floors are servers whose latency load hardly moves, close to its limit, before it rises: there the method is at its end.
	floors = sync.OnceValue(func() []carrier { return readCarriers("testdata/capacity_floors.json") })
)

func readCarriers(path string) (out []carrier) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func capacities() []chart {
	set := func(title, column string, servers []carrier, files, checked int, within, covers bound) chart {
		c := chart{title: title, columns: []string{column, "within 2 %, %", "the interval covers, %", "probes"}, files: files, checked: checked}
		for _, s := range servers {
			c.lines = append(c.lines, s.line(within, covers))
		}
		return c
	}
	return []chart{
		set("**Searches of a capacity** (`load { search }`), of at most 8 probes from 8 to 400 req/s until ± 2 %: how many are within 2 % of "+
			"the true capacity (the median error is at most 2 % where half of them are), "+
			"and how many 95 % intervals of single launches cover it. 300 searches each, of servers that were listed when the method was what it "+
			"is, but for the flattest slope that it knows.",
			"server", unseen(), 300, fewFiles, bound{least: 50}, bound{least: 90}),
		set("**The same searches of servers that the method was not made with**, but whose mean was in sight when its last constant was "+
			"settled, 300 each.",
			"held-out server", heldOut(), 300, leastFiles, bound{least: 50}, bound{least: 93}),
		set("**The same searches of the servers that the method was made with**, 200 each.",
			"tuned server", tuned(), 200, leastFiles, bound{least: 50}, bound{least: 90}),
		set("**The same searches of servers whose latency load hardly moves** before it rises, and which are close to their limit all the "+
			"time, 200 each: what is measured far from the capacity says nothing of where it is.",
			"server with a floor", floors(), 200, leastFiles, bound{}, bound{}),
		dips(),
	}
}

// dip is a range of loads below the capacity in which the limit is missed: ln of its ends' ratio.
type dip struct {
	label string
	width float64
	named bound
}

// dips are servers with a second crossing, which a search that assumes that more load is never better cannot look for.
func dips() chart {
	c := chart{
		title: "**Searches of servers with a dip**: a line of slope 3 and noise 5 %, whose latency is 35 % beyond its limit in a range of " +
			"loads anywhere between the least load and 14 % below the capacity, 300 searches each. The range is given by the ratio of its " +
			"ends. Named is a load that missed by more than 5 % below the interval while a higher one held. The last two columns add probes " +
			"that the program does not make: at loads drawn from the least one up to the interval, one or one in each of four equal parts.",
		columns: []string{"the dip", "the interval covers the capacity, %", "covers the lower end of the dip, %", "a load is named, %",
			"covered or named, %", "with one probe more, %", "with four more, %"},
		files: 300, checked: leastFiles,
	}
	for _, d := range []dip{{"none", 0, atMostPercent(1)}, {"10 %", math.Log(1.1), bound{}}, {"20 %", math.Log(1.2), bound{}},
		{"50 %", math.Log(1.5), bound{}}, {"twofold", math.Log(2), bound{}}} {
		sc := &scenario{"dip, " + d.label, d.search}
		in := func(hit func(dipped) bool, b bound) cell {
			return cell{sc, func(e ending) bool { return hit(e.dipped) }, b}
		}
		c.lines = append(c.lines, line{d.label, []cell{
			in(func(d dipped) bool { return d.upper }, bound{}),
			in(func(d dipped) bool { return d.lower }, bound{}),
			in(func(d dipped) bool { return d.named }, d.named),
			in(func(d dipped) bool { return d.lower || d.named }, bound{}),
			in(func(d dipped) bool { return d.lower || d.named || d.one }, bound{}),
			in(func(d dipped) bool { return d.lower || d.named || d.four }, bound{}),
		}})
	}
	return c
}

// dipped holds the result of a search on a server with a dip: whether its interval covers the capacity or the lower end of
// the dip, whether it names a load, and whether one or four further probes miss.
type dipped struct{ upper, lower, named, one, four bool }

func (d dip) search(sim *simulator) (ending, error) {
	const least, slope, noise = 8.0, 3.0, 0.05
	rng := sim.rng
	at := math.Exp(math.Log(28) + rng.Float64()*math.Log(10))
	from := math.Log(least) + rng.Float64()*(math.Log(at/least)-d.width-0.15)
	headroom := func(load float64) float64 {
		h := -slope * math.Log(load/at)
		if x := math.Log(load); d.width > 0 && x >= from && x <= from+d.width {
			h = -math.Log(1.35)
		}
		return h + noise*rng.NormFloat64()
	}
	s, err := capacity.New(capacity.Range{Min: least, Max: 400, Resolution: 0.02, Probes: 8})
	if err != nil {
		return ending{}, err
	}
	var probes []capacity.Probe
	for step := s.Next(); step.Load > 0; step = s.Next() {
		h := headroom(step.Load)
		probes = append(probes, capacity.Probe{Load: step.Load, Headroom: h, Held: h >= 0})
		s.Add(probes[len(probes)-1])
	}
	e := s.Estimate()
	covers := func(x float64) bool { return e.Lower <= x && x <= e.Upper }
	misses := func(parts int) bool {
		missed := false
		for i := range parts {
			part := (float64(i) + rng.Float64()) / float64(parts)
			missed = headroom(least*math.Pow(max(1, e.Lower/least), part)) < -math.Log(capacity.ClearMiss) || missed
		}
		return missed
	}
	return ending{pairs: len(probes), dipped: dipped{upper: covers(at), lower: d.width > 0 && covers(math.Exp(from)),
		named: len(capacity.Contrary(probes, e.Lower)) > 0, one: misses(1), four: misses(4)}}, nil
}

// TestCapacitiesInTheMean: over the unseen servers of the page 93 to 97 % of the intervals cover, to a tenth. That the page's numbers
// are those of the simulation is TestOperatingCharacteristics'.
func TestCapacitiesInTheMean(t *testing.T) {
	stated, err := readSection()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, s := range unseen() {
		_, row, ok := strings.Cut(stated, "\n| "+s.Label+" | ")
		fields := strings.Split(row, " | ")
		if !ok || len(fields) < 3 {
			t.Fatalf("the page has no row of %q", s.Label)
		}
		covered, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += covered
	}
	if mean := math.Round(10*sum/float64(len(unseen()))) / 10; mean < 93 || mean > 97 {
		t.Errorf("%.1f %% in the mean, promised 93 to 97", mean)
	}
}

// scenario of searches of a server.
func (x carrier) scenario() *scenario {
	return &scenario{"capacity, " + x.Label, func(sim *simulator) (ending, error) {
		x, err := x.search(sim.rng)
		return ending{right: math.Abs(x.off) <= math.Log(1.02), wrong: !x.covered, pairs: x.probes}, err
	}}
}

func (x carrier) line(within, covers bound) line {
	sc := x.scenario()
	return line{x.Label, []cell{
		{sc, func(e ending) bool { return e.right }, within},
		{sc, func(e ending) bool { return !e.wrong }, covers},
		{sc, nil, bound{most: 8}},
	}}
}

func capacitiesCompared() chart {
	c := chart{
		title: "**Capacities as a metric**: files of 6 pairs with a margin of 5 %, each launch searched, and drawn with a noise of 0.7 % " +
			"between launches; and how many t intervals over the 6 launches of " +
			"one side cover its capacity. Draws of the two sides are independent here, while those of a run are the same.",
		columns: []string{"server", "equal sides: regression", "a head that carries 10 % less: found", "the interval over launches covers, %"},
		checked: fewFiles,
	}
	for _, s := range tuned()[:2] {
		launches := s.launches()
		file := func(name string, head float64) *scenario {
			return &scenario{"capacities, " + s.Label + name, func(sim *simulator) (ending, error) { return s.compare(sim, launches(), head) }}
		}
		same, less := file("", 1), file(", less", 0.9)
		c.lines = append(c.lines, line{s.Label, []cell{
			{same, isRed, bound{most: 5}},
			{less, isRed, bound{least: 95}},
			{same, func(e ending) bool { return e.right }, bound{least: 93, most: 97}},
		}})
	}
	return c
}

// found is what a search has found: how far off it is in logarithms, and whether its interval
// covers the capacity.
type found struct {
	off     float64
	covered bool
	probes  int
}

func (x carrier) search(rng *rand.Rand) (found, error) {
	at := math.Exp(math.Log(14) + rng.Float64()*math.Log(20))
	s, err := capacity.New(capacity.Range{Min: 8, Max: 400, Resolution: 0.02, Probes: 8})
	if err != nil {
		return found{}, err
	}
	n := 0
	for step := s.Next(); step.Load > 0; step = s.Next() {
		u := math.Log(step.Load / at)
		h := between(x.U, x.Headroom, u) + rng.NormFloat64()*between(x.U, x.SD, min(max(u, x.U[0]), x.U[len(x.U)-1]))
		s.Add(capacity.Probe{Load: step.Load, Headroom: h, Held: h >= 0})
		n++
	}
	e := s.Estimate()
	return found{math.Log(e.Capacity / at), e.Lower <= at && at <= e.Upper, n}, nil
}

// between is a line through points, which goes on beyond the ends.
func between(xs, ys []float64, x float64) float64 {
	i := 0
	for i < len(xs)-2 && x > xs[i+1] {
		i++
	}
	return ys[i] + (x-xs[i])/(xs[i+1]-xs[i])*(ys[i+1]-ys[i])
}

// launches are the errors of searches, of which files draw theirs.
func (x carrier) launches() func() []float64 {
	return sync.OnceValue(func() []float64 {
		n := 20
		if *gates.Full {
			n = 300
		}
		rng := rand.New(rand.NewPCG(18, uint64(n)))
		out := make([]float64, n)
		for i := range out {
			f, err := x.search(rng)
			if err != nil {
				panic(fmt.Sprintf("%s: %v", x.Label, err))
			}
			out[i] = f.off
		}
		return out
	})
}

// compare six pairs of launches whose head carries a share of the base's load.
func (x carrier) compare(s *simulator, errors []float64, head float64) (ending, error) {
	launch := func() float64 { return errors[s.rng.IntN(len(errors))] + 0.007*s.rng.NormFloat64() }
	m, _ := metric.Lookup("capacity.rate")
	c := gates.Comparison{ID: "capacity", Gate: "gate.g", Metric: m, Claim: gates.Claim{Margin: 0.05}, CanFail: true}
	var base []float64
	for k := range 6 {
		base = append(base, launch())
		c.Pairs = append(c.Pairs, gates.Pair{Repeat: k, Base: 100 * math.Exp(base[k]), Head: 100 * head * math.Exp(launch())})
	}
	j, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}})
	mean, sd := stat.MeanStdDev(base, nil)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 5}.Quantile(0.975) * sd / math.Sqrt(6)
	return ending{Judgement: j, right: math.Abs(mean) <= half}, err
}
