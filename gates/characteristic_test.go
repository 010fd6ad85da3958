package gates_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// chart is a table of operating characteristics.
type chart struct {
	title string
	// checked are the files that check the chart, where those are fewer than shortFiles.
	checked int
	// files behind each of its numbers, where those are fewer than fullFiles.
	files   int
	columns []string // the first is that of the lines' labels
	// worth of the pairs of a file, by cells of a line: hours, say; nil where means are of pairs.
	worth func(line, cell int, pairs float64) float64
	lines []line
}

type line struct {
	label string
	cells []cell
}

// cell is one number of a chart: the percentage of files that hit, or with no hit the
// mean number of pairs.
type cell struct {
	of    *scenario
	hit   func(ending) bool
	bound bound
}

// bound is what is promised of a number, in its unit; zero is no promise. What follows a
// law exactly is promised as the law's own value, around which a simulation scatters.
type bound struct{ least, most, exactly float64 }

func atMostPercent(x float64) bound  { return bound{most: x} }
func atLeastPercent(x float64) bound { return bound{least: x} }

// holds reports whether a number from fullFiles files keeps the promise: without any room, but
// for an exact percentage with four standard errors of it.
func (b bound) holds(x float64) bool {
	if b.exactly > 0 {
		return math.Abs(x-b.exactly) <= 4*math.Sqrt(b.exactly*(100-b.exactly)/fullFiles)
	}
	return x >= b.least && (b.most == 0 || x <= b.most)
}

func (b bound) String() string {
	switch {
	case b.exactly > 0:
		return fmt.Sprintf("%g by law", b.exactly)
	case b.least > 0 && b.most > 0:
		return fmt.Sprintf("%g to %g", b.least, b.most)
	case b.least > 0:
		return fmt.Sprintf("≥ %g", b.least)
	case b.most > 0:
		return fmt.Sprintf("≤ %g", b.most)
	}
	return ""
}

// stated are the files behind each number of the chart on the page.
func (c chart) stated() int { return cmp.Or(c.files, fullFiles) }

// scenario is one kind of file. Each of its files is drawn with a seed of its own, so that
// results depend neither on the number of files nor on that of processors.
type scenario struct {
	name  string
	judge func(s *simulator) (ending, error)
}

// ending is what became of one file.
type ending struct {
	gates.Judgement
	pairs int // measured until the sequence stopped
	// right and wrong say what a search for the culprit came to, or a file of which one is drawn.
	right, wrong bool
	// named says that a search names at least one culprit, several that more than one changed something, and ranged that
	// its range brings more than half of what several did.
	named, several, ranged bool
	dipped                 dipped
}

func (e ending) isRight() bool { return e.right }
func (e ending) isWrong() bool { return e.wrong }

// looked is a file that is judged by a sequence of five looks.
func looked(name string, draw func(s *simulator) gates.Family) *scenario {
	return inStages(name, func(s *simulator) gates.Sequence { return gates.Sequence{Family: draw(s), Looks: fiveLooks} })
}

// inStages is a file that is judged by a sequence, which has all repeats that it can ask for.
func inStages(name string, draw func(s *simulator) gates.Sequence) *scenario {
	return &scenario{name, func(s *simulator) (ending, error) {
		p, err := draw(s).Judge()
		if err != nil {
			return ending{}, err
		}
		if !p.Stop {
			return ending{}, fmt.Errorf("the sequence asks for %d repeats", p.Next)
		}
		return ending{Judgement: p.Judgement, pairs: p.Taken[len(p.Taken)-1]}, nil
	}}
}

// once is a file that is judged once.
func once(name string, draw func(s *simulator) gates.Family) *scenario {
	return &scenario{name, func(s *simulator) (ending, error) {
		j, err := gates.Judge(draw(s))
		return ending{Judgement: j}, err
	}}
}

func (e ending) first() gates.Decision { return e.Comparisons[0] }

// any reports whether a comparison has the verdict.
func (e ending) any(v gates.Verdict) bool {
	for _, d := range e.Comparisons {
		if d.Verdict == v {
			return true
		}
	}
	return false
}

// green reports whether all comparisons pass.
func (e ending) green() bool {
	for _, d := range e.Comparisons {
		if d.Verdict != gates.Pass && d.Verdict != gates.Improvement {
			return false
		}
	}
	return true
}

// simulate judges the files from the first on, on all processors, and evaluates each cell
// for each file.
func (sc *scenario) simulate(tb testing.TB, cells []cell, first, files int) []value {
	tb.Helper()
	metrics := newSimulator(0).metrics
	values := make([]value, len(cells))
	for k, c := range cells {
		values[k] = value{mean: c.hit == nil, of: make([]float64, files)}
	}
	failed := make([]error, files)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < files; i += workers {
				seed := sha256.Sum256(fmt.Appendf(nil, "%s/%d", sc.name, first+i))
				e, err := sc.judge(&simulator{rng: rand.New(rand.NewChaCha8(seed)), metrics: metrics})
				if failed[i] = err; err != nil {
					continue
				}
				for k, c := range cells {
					values[k].of[i] = c.evaluate(e)
				}
			}
		})
	}
	wg.Wait()
	for i, err := range failed {
		if err != nil {
			tb.Fatalf("%s, file %d: %v", sc.name, first+i, err)
		}
	}
	return values
}

// evaluate is what one file adds to the cell's number.
func (c cell) evaluate(e ending) float64 {
	switch {
	case c.hit == nil:
		return float64(e.pairs)
	case c.hit(e):
		return 100
	}
	return 0
}

// value is a number that was simulated: the mean over files of their pairs, or of 100 for
// those that hit.
type value struct {
	mean  bool                  // of pairs
	worth func(float64) float64 // what they are worth, nil for pairs
	of    []float64
}

func (v value) number() float64 {
	sum := 0.0
	for _, x := range v.of {
		sum += x
	}
	return sum / float64(len(v.of))
}

// hits are the files behind a percentage.
func hits(percent float64, files int) int { return int(math.Round(percent / 100 * float64(files))) }

// simulate fills the cells of a chart, each scenario simulated once.
func (c chart) simulate(tb testing.TB, first, files int) [][]value {
	tb.Helper()
	type place struct{ line, cell int }
	var order []*scenario
	places := map[*scenario][]place{}
	values := make([][]value, len(c.lines))
	for i, l := range c.lines {
		values[i] = make([]value, len(l.cells))
		for k, cell := range l.cells {
			if places[cell.of] == nil {
				order = append(order, cell.of)
			}
			places[cell.of] = append(places[cell.of], place{i, k})
		}
	}
	for _, sc := range order {
		var cells []cell
		for _, at := range places[sc] {
			cells = append(cells, c.lines[at.line].cells[at.cell])
		}
		for k, v := range sc.simulate(tb, cells, first, files) {
			at := places[sc][k]
			values[at.line][at.cell] = c.valued(v, at.line, at.cell)
		}
	}
	return values
}

// valued is a mean of pairs in what they are worth.
func (c chart) valued(v value, line, cell int) value {
	if c.worth == nil || !v.mean {
		return v
	}
	v.worth = func(pairs float64) float64 { return c.worth(line, cell, pairs) }
	for i, pairs := range v.of {
		v.of[i] = v.worth(pairs)
	}
	return v
}

// agrees reports whether a number stated after a simulation of its own and one simulated here
// can be of the same kind of file. Percentages are compared by Fisher's exact test, means of
// pairs by their difference over its standard error; numbers whose true values are equal
// are refused with a chance of level.
func (v value) agrees(stated float64, statedFiles int, level float64) bool {
	files := len(v.of)
	if !v.mean {
		here, there := hits(v.number(), files), hits(stated, statedFiles)
		more, err := gates.FisherExact(here, files, there, statedFiles)
		if err != nil {
			return false // no percentage
		}
		fewer, err := gates.FisherExact(there, statedFiles, here, files)
		return err == nil && min(more, fewer) > level/2
	}
	// One sequence more at either end, so that no spread at all is no certainty.
	least, most := float64(fiveLooks[0]), float64(fiveLooks[len(fiveLooks)-1])
	if v.worth != nil {
		least, most = v.worth(least), v.worth(most)
	}
	ends := value{mean: true, of: append([]float64{least, most}, v.of...)}
	squares, centre := 0.0, ends.number()
	for _, n := range ends.of {
		squares += (n - centre) * (n - centre)
	}
	sd := math.Sqrt(squares / float64(files+1))
	const rounded = 0.005
	z := (math.Abs(v.number()-stated) - rounded) / (sd * math.Sqrt(1/float64(files)+1/float64(statedFiles)))
	return math.Erfc(z/math.Sqrt2) > level
}
