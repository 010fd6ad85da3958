package judge

import (
	"iter"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// pass identifies a run of a cell that is compared with the same pass of the other side.
type pass struct{ repeat, pass int }

func passOf(r result.Run) pass { return pass{r.Pair(), r.Pass} }

// sound yields the runs of a cell that succeeded, without those that were measured again.
func sound(cell *result.Cell) iter.Seq[result.Run] {
	return func(yield func(result.Run) bool) {
		for _, r := range cell.Current() {
			if r.Status == result.RunOK && !yield(r) {
				return
			}
		}
	}
}

// valid returns the number of sound runs of a cell.
func valid(cell *result.Cell) int { return len(slices.Collect(sound(cell))) }

// pairs matches the valid runs of both sides by repeat. The unit of a comparison is the launch, so the passes of a
// repeat make one pair: the means over the passes that both sides have.
func pairs(m metric.Metric, base, head *result.Cell) []gates.Pair {
	byPass := map[pass]float64{}
	for r := range sound(base) {
		if v, ok := r.Metrics[m.ID]; ok {
			byPass[passOf(r)] = v
		}
	}
	type sides struct{ base, head []float64 }
	found := map[int]*sides{}
	var repeats []int
	for r := range sound(head) {
		h, ok := r.Metrics[m.ID]
		b, both := byPass[passOf(r)]
		if !ok || !both {
			continue
		}
		at := r.Pair()
		if found[at] == nil {
			found[at] = &sides{}
			repeats = append(repeats, at)
		}
		found[at].base, found[at].head = append(found[at].base, b), append(found[at].head, h)
	}
	var out []gates.Pair
	for _, at := range repeats {
		out = append(out, gates.Pair{Repeat: at, Base: m.Mean(found[at].base), Head: m.Mean(found[at].head)})
	}
	return out
}

// outcomes lists the outcomes of a side's runs. Void and cancelled runs say nothing about the server and are omitted. A
// repeat can have several failed runs and a later one that succeeded: all of them count. The passes of one launch are
// one outcome: a server that did not start failed once, however many passes were planned. A request that was sent again
// because its connection closed without an answer counts as failed, since a server that drops requests is worse than
// one that does not.
func outcomes(runs []result.Run) []gates.Run {
	type launch struct {
		repeat int
		name   string
		failed bool
	}
	at := map[launch]int{}
	var out []gates.Run
	for _, r := range runs {
		if r.Status != result.RunOK && r.Status != result.RunFailed {
			continue
		}
		key := launch{r.Repeat, r.Launch, r.Status == result.RunFailed}
		failed := min(r.Failed+resent(r), r.Sent)
		if i, seen := at[key]; seen && r.Pass > 0 {
			out[i].Sent, out[i].Failed = out[i].Sent+r.Sent, out[i].Failed+failed
			continue
		}
		at[key] = len(out)
		out = append(out, gates.Run{Repeat: r.Pair(), Sent: r.Sent, Failed: failed, ServerFailed: key.failed})
	}
	return out
}

// resent returns the number of requests of a run that were sent again.
func resent(r result.Run) int {
	if r.Requests == nil {
		return 0
	}
	return r.Requests.Resent
}
