package trend

import (
	"cmp"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// Fleet holds what one machine measured over its sessions.
type Fleet struct {
	// Sessions is their number, oldest first.
	Sessions int
	Series   []Member
}

// Member is one series of a fleet.
type Member struct {
	// Unit names the cell that was measured. All series of one cell count as one, because what is
	// wrong with its server moves all of them.
	Unit   string
	Metric metric.Metric
	// Values by session, and the smallest loss that counts, as in [Terms].
	Values map[int]float64
	Margin float64
}

// Move is an episode in which most cells of a machine became worse together, such as while a
// neighbour took a share of it.
type Move struct {
	// From is its first session, To the one after its last.
	From, To int
	// Change is the median over the cells of by how much their metrics were worse, as a ratio less one.
	Change float64
	// Cells that were worse, of all that could be compared.
	Worse, Cells int
	// Open is set if the last session belongs to it.
	Open bool
}

const (
	// HeldSessions is the longest move, in sessions, that is blamed on the machine. A change of the code can make all
	// cells worse, too, and does not recover.
	HeldSessions = 7
	// leastCells is the least number of cells that can move together.
	leastCells = 5
	// mostWorse is the share of the cells that have to be worse, by a share of their margins.
	mostWorse, shareOfMargin = 0.8, 0.6
	// priorSessions is the number of sessions before a move that it is compared with, and leastPrior the least number.
	priorSessions, leastPrior = 10, 5
)

// SharedMoves returns the episodes of at most [HeldSessions] in which most cells of a machine were
// worse together. A longer one is a change of a level like any other and not returned.
func SharedMoves(f Fleet) []Move {
	var moves []Move
	var open *Move
	// A session is compared with those before the episode that may be open.
	before := make([][]float64, len(f.Series))
	var waiting []int
	end := func(keep bool) {
		if open != nil && keep {
			moves = append(moves, *open)
		}
		open = nil
		for _, session := range waiting {
			if !keep {
				f.remember(before, session)
			}
		}
		waiting = nil
	}
	for session := range f.Sessions {
		m := f.together(before, session)
		if m == nil {
			end(true)
			f.remember(before, session)
			continue
		}
		if open == nil {
			open = m
		}
		open.To = session + 1
		if m.Change > open.Change {
			open.Change, open.Worse, open.Cells = m.Change, m.Worse, m.Cells
		}
		waiting = append(waiting, session)
		if open.To-open.From > HeldSessions {
			end(false)
		}
	}
	if open != nil {
		open.Open = true
	}
	end(true)
	return moves
}

// remember adds the values of a session to those that later ones are compared with.
func (f Fleet) remember(before [][]float64, session int) {
	for i, s := range f.Series {
		if v, ok := s.Values[session]; ok {
			before[i] = append(before[i], v)
			before[i] = before[i][max(0, len(before[i])-priorSessions):]
		}
	}
}

// together returns the move of a session against the ones before, nil if the cells did not become worse together.
func (f Fleet) together(before [][]float64, session int) *Move {
	shares, losses := map[string][]float64{}, map[string][]float64{}
	for i, s := range f.Series {
		v, ok := s.Values[session]
		if !ok || s.Metric.Scale != metric.Log || v <= 0 || len(before[i]) < leastPrior || slices.Min(before[i]) <= 0 {
			continue
		}
		worse := math.Log(v / median(before[i]))
		if s.Metric.Direction == metric.HigherIsBetter {
			worse = -worse
		}
		shares[s.Unit] = append(shares[s.Unit], worse/math.Log1p(s.Margin))
		losses[s.Unit] = append(losses[s.Unit], worse)
	}
	m := &Move{From: session, Cells: len(shares)}
	var moved, by []float64
	for unit, share := range shares {
		x := median(share)
		moved, by = append(moved, x), append(by, median(losses[unit]))
		if x > 0 {
			m.Worse++
		}
	}
	if m.Cells < leastCells || float64(m.Worse) < mostWorse*float64(m.Cells) || median(moved) < shareOfMargin {
		return nil
	}
	m.Change = math.Expm1(median(by))
	return m
}

// median returns the median of values in any order.
func median(values []float64) float64 {
	x := slices.SortedFunc(slices.Values(values), cmp.Compare[float64])
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
