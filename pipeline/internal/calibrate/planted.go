package calibrate

import (
	"errors"
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// IsHead reports whether a repeat stands for the head, in which a slow-down is planted. The head is the first or the
// second repeat of a pair, as drawn.
func IsHead(repeat int) bool {
	first := repeat%2 == 1
	return first == pair{number: (repeat - 1) / 2}.swapped()
}

// Found holds the result of a file's gates on a session with a planted slow-down.
type Found struct {
	// Judgement is the judgement of the whole family. Pairs is the number of pairs that it used.
	Judgement gates.Judgement
	Pairs     int
}

// Planted judges the document of a plan made by Plan with the file's gates. It compares the base with itself, including
// the slow-down in the repeats that stand for the head.
func Planted(p *plan.Plan, doc *result.Document) (Found, error) {
	pairs := map[string][]pair{}
	f := Found{Pairs: p.Looks[len(p.Looks)-1]}
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			pairs[c.Hash] = pairsOf(c)
			f.Pairs = min(f.Pairs, len(pairs[c.Hash]))
		}
	}
	if f.Pairs < 2 {
		return f, errors.New("a cell has fewer than two valid pairs of runs, so nothing can be said of its gates")
	}
	family, err := familyOf(p, pairs, 0, f.Pairs)
	if err != nil {
		return f, err
	}
	looks, before := p.SessionLooks()
	progress, err := gates.Sequence{Family: family, Looks: looks, Before: before, Ended: true}.Judge()
	if err != nil {
		return f, fmt.Errorf("judging the base against itself: %w", err)
	}
	f.Judgement = progress.Judgement
	if n := len(progress.Taken); n > 0 {
		f.Pairs = progress.Taken[n-1]
	}
	return f, nil
}
