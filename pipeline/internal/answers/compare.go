package answers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

// The metrics of answers.
const (
	Agreement         = "agreement.share"
	FirstDivergence   = "first_divergence.mean"
	LogprobDifference = "logprob_difference.mean"
)

// launches holds the answers of a cell's launches, by repeat.
type launches struct {
	of       map[int][]answer
	prompts  int
	logprobs bool
	form     result.AnswerForm
}

func launchesOf(cell *result.Cell) launches {
	l := launches{of: map[int][]answer{}, logprobs: true}
	for _, r := range cell.Current() {
		if r.Status != result.RunOK || r.Answers == nil || r.Answers.Digest == "" {
			continue
		}
		given := read(r.Answers)
		l.form = r.Answers.Form
		l.of[r.Pair()] = given
		l.prompts = max(l.prompts, len(given))
		l.logprobs = l.logprobs && r.Answers.Logprobs
	}
	return l
}

// comparison holds the compared data of two cells.
type comparison struct {
	base, head launches
	repeats    []int
}

// Compare compares the answers of two cells.
func Compare(benchmark string, base, head *result.Cell) result.Answers {
	c := comparison{base: launchesOf(base), head: launchesOf(head)}
	out := result.Answers{Benchmark: benchmark, Base: base.Hash, Head: head.Hash, Prompts: max(c.base.prompts, c.head.prompts)}
	for _, r := range slices.Sorted(maps.Keys(c.head.of)) {
		if c.base.of[r] != nil {
			c.repeats = append(c.repeats, r)
		}
	}
	if len(c.repeats) == 0 {
		return out
	}
	out.Form = c.head.form
	values := gates.Answers{Prompts: out.Prompts, Repeats: c.repeats, Alike: c.alike}.Relate()
	out.Compared = append(out.Compared, compared(Agreement, values.Agreement)...)
	out.Compared = append(out.Compared, compared(FirstDivergence, values.FirstDivergence)...)
	if c.base.logprobs && c.head.logprobs {
		out.Compared = append(out.Compared, compared(LogprobDifference, values.LogprobDifference)...)
	} else {
		out.Reason = without(c.base, c.head)
	}
	out.Answered = c.answered(out.Prompts)
	out.Divergences = c.divergences(out.Prompts)
	return out
}

// answered counts the prompts that are compared in every repeat.
func (c comparison) answered(prompts int) (n int) {
	for prompt := range prompts {
		if !slices.ContainsFunc(c.repeats, func(repeat int) bool {
			_, _, base := c.closest(false, repeat, prompt)
			_, _, head := c.closest(true, repeat, prompt)
			return !base || !head
		}) {
			n++
		}
	}
	return n
}

// without returns an error text that names the side whose server returns no log-probabilities.
func without(base, head launches) string {
	side := "head"
	switch {
	case !base.logprobs && !head.logprobs:
		side = "base and the head"
	case !base.logprobs:
		side = "base"
	}
	return fmt.Sprintf("answers of the %s came without a log-probability for each token: start the server so that it gives them, or set "+
		"logprobs = false and gate metric.agreement.share alone", side)
}

func compared(metric string, relative gates.Relative) []result.ComparedAnswers {
	var out []result.ComparedAnswers
	for _, until := range slices.Sorted(maps.Keys(relative)) {
		related := relative[until]
		one := result.ComparedAnswers{Metric: metric, Until: until, Pairs: []result.Pair{}, ErrorOfPrompts: related.Clusters.SE,
			PromptsDF: related.Clusters.DF}
		for _, p := range related.Pairs {
			one.Pairs = append(one.Pairs, result.Pair{Repeat: p.Repeat, Base: p.Base, Head: p.Head})
		}
		out = append(out, one)
	}
	return out
}

// Relative returns the compared values of a metric.
func Relative(a *result.Answers, metric string) gates.Relative {
	if a == nil {
		return nil
	}
	var out gates.Relative
	for _, c := range a.Compared {
		if c.Metric != metric {
			continue
		}
		if out == nil {
			out = gates.Relative{}
		}
		related := gates.Related{Clusters: gates.Clusters{SE: c.ErrorOfPrompts, DF: c.PromptsDF}}
		for _, p := range c.Pairs {
			related.Pairs = append(related.Pairs, gates.Pair{Repeat: p.Repeat, Base: p.Base, Head: p.Head})
		}
		out[c.Until] = related
	}
	return out
}

// Mean returns the means over all launches of a compared metric: of the base's launches compared
// with each other, and of the head's compared with them. Both are 0 if nothing was compared.
func Mean(a *result.Answers, metric string) (base, head float64) {
	pairs := Relative(a, metric).All().Pairs
	for _, p := range pairs {
		base, head = base+p.Base/float64(len(pairs)), head+p.Head/float64(len(pairs))
	}
	return base, head
}

// alike compares the answers of two launches to a prompt.
func (c comparison) alike(head bool, repeat, against, prompt int) (gates.Alike, bool) {
	of := c.base.of[repeat]
	if head {
		of = c.head.of[repeat]
	}
	other := c.base.of[against]
	if prompt >= len(of) || prompt >= len(other) || !of[prompt].given || !other[prompt].given {
		return gates.Alike{}, false
	}
	a, b := of[prompt], other[prompt]
	x := gates.Alike{Nats: math.NaN()}
	for x.Tokens < min(len(a.chain), len(b.chain)) && a.chain[x.Tokens] == b.chain[x.Tokens] {
		x.Tokens++
	}
	whole := x.Tokens == len(a.chain) && x.Tokens == len(b.chain)
	if (a.nats == nil) != (b.nats == nil) { // tokens on one side only
		x.Tokens, whole = 0, true
	}
	x.Equal = whole && a.ended == b.ended && a.text == b.text
	if x.Equal {
		x.Tokens = max(len(a.chain), len(b.chain))
	}
	if n := min(x.Tokens, len(a.nats), len(b.nats)); n > 0 {
		sum := 0.0
		for i := range n {
			sum += math.Abs(float64(a.nats[i]) - float64(b.nats[i]))
		}
		x.Nats = sum * natUnit / float64(n)
	}
	if x.Equal && a.ended {
		x.Tokens++ // they end alike: a longer answer would differ here
	}
	return x, true
}

// mostDivergences is the number of divergences to keep as examples.
const mostDivergences = 5

// divergences returns prompts that the head answers differently from every launch of the base.
// First come those that most of its launches answer so and the base's launches answer alike, then
// the earliest.
func (c comparison) divergences(prompts int) []result.Divergence {
	var all []result.Divergence
	for prompt := range prompts {
		if d, ok := c.divergence(prompt); ok && d.Heads > d.Bases {
			all = append(all, d)
		}
	}
	chance := func(d result.Divergence) int {
		if d.Bases == 0 && 2*d.Heads > len(c.repeats) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b result.Divergence) int {
		return cmp.Or(chance(a)-chance(b), a.Token-b.Token)
	})
	return all[:min(len(all), mostDivergences)]
}

// divergence returns the earliest difference of the head's launches from all of the base's at a
// prompt.
func (c comparison) divergence(prompt int) (d result.Divergence, ok bool) {
	d.Prompt, d.Token = prompt, math.MaxInt
	for _, repeat := range c.repeats {
		if closest, _, known := c.closest(false, repeat, prompt); known && !closest.Equal {
			d.Bases++
		}
		closest, against, known := c.closest(true, repeat, prompt)
		if !known || closest.Equal {
			continue
		}
		d.Heads++
		if closest.Tokens < d.Token {
			d.Token, d.Repeat, d.Against, ok = closest.Tokens, repeat, against, true
		}
	}
	return d, ok
}

// closest returns the closest of the base's other launches at a prompt.
func (c comparison) closest(head bool, repeat, prompt int) (best gates.Alike, against int, known bool) {
	for _, other := range c.repeats {
		if other == repeat {
			continue
		}
		if x, ok := c.alike(head, repeat, other, prompt); ok && (!known || x.Closer(best)) {
			best, against, known = x, other, true
		}
	}
	return best, against, known
}
