package convert

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
)

// markRepetitions marks table rows and summaries that repeat a block of the same text, so that they
// do not count as a second measurement.
func markRepetitions(runs []Run) {
	for i := range runs {
		r := &runs[i]
		if r.Format == FormatBlock && !r.bare {
			continue
		}
		for j := range runs {
			b := &runs[j]
			if b.Format != FormatBlock || b.bare {
				continue
			}
			// Many figures of two measurements are never all equal. A bare block may be a summary: each
			// of its figures equals one of the block to the last digit.
			same, differ := shared(r, b)
			summary := r.bare && same >= 3 && same == len(r.Metrics)
			if !differ && (r.Duration == b.Duration && (same >= 6 || summary) || r.Duration == 0 && summary) {
				r.SameAs = b.Line
				break
			}
		}
	}
}

// shared counts the equal metrics, and reports whether any differs.
func shared(a, b *Run) (same int, differ bool) {
	for id, v := range a.Metrics {
		w, ok := b.Metrics[id]
		if ok && v != w {
			return same, true
		}
		if ok {
			same++
		}
	}
	return same, false
}

// isCopy reports whether two results are one measurement: all figures are equal, and there are too
// many for coincidence.
func isCopy(a, b *Run) bool {
	const enough = 4
	same, differ := shared(a, b)
	return a.Duration == b.Duration && a.Counts == b.Counts && len(a.Metrics) == len(b.Metrics) && !differ && same >= enough
}

// prints reports whether a block is the rounded form of the result of a file: the same counts, and
// all common figures equal to the digits of the block. Two measurements never are.
func prints(block, file *Run) bool {
	const enough = 6
	if block.Format != FormatBlock || file.Format == FormatBlock || block.Tool != file.Tool ||
		block.Counts.Succeeded != file.Counts.Succeeded ||
		math.Abs(block.Duration-file.Duration) > 0.00501 {
		return false
	}
	same := 0
	for id, v := range block.Metrics {
		w, ok := file.Metrics[id]
		if !ok {
			continue
		}
		digit := 1e-2
		if unitOf(id) == metric.Seconds {
			digit = 1e-5 // a hundredth of a millisecond
		}
		if math.Abs(v-w) > 0.501*digit {
			return false
		}
		same++
	}
	return same >= enough
}

// markCut marks blocks without an end whose figures another block of the text contains, with more.
// They are printed by an abandoned attempt, which is not a measurement beside its replacement.
func markCut(runs []Run) {
	for i := range runs {
		r := &runs[i]
		if !r.open {
			continue
		}
		for j := range runs {
			if whole := &runs[j]; j != i && whole.Format == FormatBlock && !whole.open && whole.Tool == r.Tool && hasAllAndMore(whole, r) {
				r.Cut = fmt.Sprintf("the block is cut: it has %d figures, and that of line %d has %d", len(r.Metrics), whole.Line, len(whole.Metrics))
				break
			}
		}
	}
}

func hasAllAndMore(whole, part *Run) bool {
	for id := range part.Metrics {
		if _, ok := whole.Metrics[id]; !ok {
			return false
		}
	}
	return len(whole.Metrics) > len(part.Metrics)
}
