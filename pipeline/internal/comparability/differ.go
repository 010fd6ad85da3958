package comparability

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/result"
)

// The requests and answers of two sides are compared one by one; on both sides, the index of a request is the
// index of its prompt. A head that does different work looks faster, so most differences make a comparison
// invalid.
//
// Honest sides differ, too: sampled texts differ, greedy texts diverge after a near-tie, and engines split
// their answers into events freely (streaming intervals, several tokens per step, tokens that queue up behind a
// busy loop). So only the prompts are compared exactly. Everything else is compared as a mean over the
// requests. It differs if the difference is large and exceeds many standard errors. Each threshold below is
// several times what two launches of one server show. The standard error comes from the differences of single
// requests, so noise alone never counts as different work.
const (
	// leastRequests is the smallest number of requests whose mean is compared.
	leastRequests = 8
	// otherErrors is the required difference of means in standard errors.
	otherErrors = 6
	// otherCharacters is the relative difference of characters per token. Texts of one model agree within a few
	// percent, even if sampled and if its weights are off: TestOmittedTokens. Tokens that were claimed but not
	// generated, or padding with blanks, have no characters.
	otherCharacters = 0.1
	// claimedTokens is the relative difference of both characters per token and tokens per event, in opposite
	// directions, that shows tokens that were claimed and not streamed, or streamed and not claimed: characters per event
	// then agree within the same share. Fewer and larger events alone leave the characters per token alone.
	claimedTokens = 0.05
	// otherLengths is the relative difference of tokens per answer, if the model ends it.
	otherLengths = 0.33
	// shownLengths is the smaller relative difference that is reported. It excludes metrics that grow with the length of
	// the answer (metric.Metric.OfLength) if it reaches their margin. Noise is in the standard error, in which a prompt
	// counts once: one near-tie moves the answer to it in every repeat.
	shownLengths = 0.02
	// otherUsage is the difference of the shares of requests for which a server counts its tokens: it counts them for all
	// or for none.
	otherUsage = 0.02
	// otherEvents is the relative difference of tokens per event that is reported.
	otherEvents = 0.1
	// otherShare is the difference of request shares that is reported.
	otherShare = 0.1
	// repeatedShare is the difference of the shares of requests whose answer another prompt got, too. Short
	// answers (yes, no, a number) repeat alike on both sides.
	repeatedShare = 0.25
	// cannedShare and cannedErrors hold instead for whole answers of movedCharacters that one side repeats and the other,
	// up to neverRepeated, does not: a model whose answers all differ has none.
	cannedShare, cannedErrors, neverRepeated = 0.03, 4, 0.01
	// leastMoved is the smallest number of moved answers; a swap has two. Long greedy answers that only one
	// prompt gets on each side do not swap by chance.
	leastMoved = 2
	// movedCharacters is the smallest length of such an answer.
	movedCharacters = 32
	// leastCopied is the smallest number of answers of the base that the head gives to further prompts, and
	// copiedShare their smallest share.
	leastCopied = 3
	copiedShare = 0.02
	// alikeBeginnings is the share of greedy answers that begin alike below which the difference is reported.
	alikeBeginnings = 0.5
	// leastFirsts is the smallest number of greedy answers whose first characters are compared. alikeFirsts is
	// the share with equal first characters below which the sides give different answers. Even a model with
	// fewer bits per weight chooses the same first token far more often, also for meaningless prompts.
	leastFirsts = 24
	alikeFirsts = 0.1
	// Answers of one model part at any token. If at least sureFirsts have the same first characters and no more than
	// partedBeginnings the same first words, one side says something else after its first token.
	sureFirsts       = 0.75
	partedBeginnings = 0.02
	// greedy is the temperature at which texts can be compared.
	greedy = "0"
)

// runPair holds the requests that both sides answered in one pass of a repeat.
type runPair struct {
	result.PairedRequests
	base, head []request // of equal length
	runs       [2]result.Run
	index      []int // indices of the requests
	// firsts counts the greedy answers with first characters known on both sides, and alikeFirst those with
	// equal ones.
	firsts, alikeFirst int
	// onePrompt counts requests with equal prompts once in standard errors.
	onePrompt bool
}

// CompareRequests compares the requests of two cells, false if there are none to compare. It skips runs with
// different prompts.
func CompareRequests(benchmark string, base, head *result.Cell) (result.ComparedRequests, bool) {
	out := result.ComparedRequests{Benchmark: benchmark, Base: base.Hash, Head: head.Hash, Pairs: []result.PairedRequests{}}
	pairs := runPairs(base, head)
	if len(pairs) == 0 {
		return out, false
	}
	sameTexts := base.Work["temperature"] == greedy && head.Work["temperature"] == greedy
	add := func(d result.RequestDifference, differs bool) {
		if differs {
			out.Differences = append(out.Differences, d)
		}
	}
	for i := range pairs {
		add(pairs[i].prompts())
	}
	all := pool(pairs)
	add(all.usage("prompt tokens", func(r request) bool { return r.prompt > 0 }))
	add(all.usage("output tokens", func(r request) bool { return r.output > 0 }))
	add(all.lengths())
	add(all.characters())
	add(all.fewerTokens())
	add(all.repeated())
	if sameTexts {
		for i := range pairs {
			pairs[i].texts()
			add(pairs[i].moved("base", "head", pairs[i].base, pairs[i].head))
			add(pairs[i].moved("head", "base", pairs[i].head, pairs[i].base))
		}
		add(beginnings(pairs))
	}
	add(all.events())
	add(all.finish())
	add(all.blank())
	add(ends(pairs))
	add(gathered(pairs))
	add(connections(pairs))
	add(lateEnds(pairs))
	add(warmupFailures(pairs))
	add(warmupTimes(pairs))
	add(reasoning(pairs))
	for _, p := range pairs {
		out.Pairs = append(out.Pairs, p.PairedRequests)
	}
	return out, true
}

// HaveRequests reports whether some pair of valid runs of two cells has counted requests, which are then compared.
func HaveRequests(base, head *result.Cell) bool {
	has := func(r result.Run) bool { return r.Status == result.RunOK && r.Requests != nil }
	for _, h := range head.Current() {
		for _, b := range base.Current() {
			if has(h) && has(b) && h.Pair() == b.Pair() && h.Pass == b.Pass && h.Audit["work_hash"] == b.Audit["work_hash"] {
				return true
			}
		}
	}
	return false
}

// runPairs pairs the valid runs of two cells.
func runPairs(base, head *result.Cell) []runPair {
	type key struct{ repeat, pass int }
	of := map[key]result.Run{}
	for _, r := range base.Current() {
		if compares(r) {
			of[key{r.Pair(), r.Pass}] = r
		}
	}
	var out []runPair
	for _, h := range head.Current() {
		b, both := of[key{h.Pair(), h.Pass}]
		if !both || !compares(h) || b.Audit["work_hash"] != h.Audit["work_hash"] {
			continue
		}
		p := runPair{PairedRequests: result.PairedRequests{Repeat: h.Pair(), Pass: h.Pass}, runs: [2]result.Run{b, h}}
		bases, heads := readRequests(b.Requests.Digest), readRequests(h.Requests.Digest)
		for i := range min(len(bases), len(heads)) {
			if bases[i].given && heads[i].given {
				p.base, p.head, p.index = append(p.base, bases[i]), append(p.head, heads[i]), append(p.index, i)
			}
		}
		p.Requests = len(p.index)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b runPair) int { return cmp.Or(a.Repeat-b.Repeat, a.Pass-b.Pass) })
	return out
}

func compares(r result.Run) bool {
	return r.Status == result.RunOK && r.Requests != nil && r.Requests.Digest != ""
}

// pool joins the requests of all pairs.
func pool(pairs []runPair) (all runPair) {
	all.Repeat = pairs[0].Repeat
	for _, p := range pairs {
		all.base, all.head, all.index = append(all.base, p.base...), append(all.head, p.head...), append(all.index, p.index...)
	}
	return all
}

// prompts compares the prompt tokens of each request. It skips prompts that repeat the server's answers, whose
// length depends on those.
func (p *runPair) prompts() (result.RequestDifference, bool) {
	d := result.RequestDifference{What: result.OtherPrompts, Repeat: p.Repeat}
	first := -1
	for i := range p.index {
		b, h := p.base[i], p.head[i]
		if b.prompt == h.prompt || b.prompt == 0 || h.prompt == 0 || b.continues || h.continues {
			continue
		}
		if first < 0 {
			first = i
		}
		p.OtherPrompts++
		d.Base += float64(b.prompt)
		d.Head += float64(h.prompt)
	}
	if first < 0 {
		return d, false
	}
	n := float64(p.OtherPrompts)
	d.Base, d.Head = d.Base/n, d.Head/n
	d.Text = fmt.Sprintf("prompt tokens differ in %d of %d requests: base %d, head %d in request %d", p.OtherPrompts, p.Requests,
		p.base[first].prompt, p.head[first].prompt, p.index[first])
	return d, true
}

// ratio compares Σ of / Σ to of both sides, over the requests for which use returns true. share is the smallest
// difference, as a share of the larger value if relative.
func (p *runPair) ratio(use func(b, h request) bool, of, to func(request) float64, share float64,
	relative bool) (base, head float64, differs bool) {
	var b, h, bTo, hTo []float64
	var asked []uint32
	for i := range p.index {
		if use(p.base[i], p.head[i]) {
			asked = append(asked, p.head[i].asked)
			b, h = append(b, of(p.base[i])), append(h, of(p.head[i]))
			bTo, hTo = append(bTo, to(p.base[i])), append(hTo, to(p.head[i]))
		}
	}
	n := float64(len(b))
	meanB, meanH := sum(bTo)/n, sum(hTo)/n
	if n < leastRequests || !(meanB > 0) || !(meanH > 0) {
		return 0, 0, false
	}
	base, head = sum(b)/sum(bTo), sum(h)/sum(hTo)
	var residuals []float64 // of both ratios, per request or per prompt
	ofPrompt := map[uint32]int{}
	for i := range b {
		d := (h[i]-head*hTo[i])/meanH - (b[i]-base*bTo[i])/meanB
		if at, again := ofPrompt[asked[i]]; p.onePrompt && again && asked[i] != 0 {
			residuals[at] += d
			continue
		}
		ofPrompt[asked[i]] = len(residuals)
		residuals = append(residuals, d)
	}
	squares := 0.0
	for _, d := range residuals {
		squares += d * d
	}
	groups := float64(len(residuals))
	se := math.Sqrt(squares*groups/(groups-1)) / n
	if relative {
		share *= max(base, head)
	}
	difference := math.Abs(head - base)
	return base, head, difference > share && difference > otherErrors*se
}

func sum(v []float64) (s float64) {
	for _, x := range v {
		s += x
	}
	return s
}

func one(request) float64 { return 1 }

func outputTokens(r request) float64 { return float64(r.output) }

func events(r request) float64 { return float64(r.events) }

func counted(b, h request) bool { return b.output > 0 && h.output > 0 }

// indicator returns a function that is 1 for requests that satisfy is, else 0.
func indicator(is func(request) bool) func(request) float64 {
	return func(r request) float64 {
		if is(r) {
			return 1
		}
		return 0
	}
}

// usage compares the shares of requests for which a server counts its tokens. A side that does not count them could do
// less for each.
func (p *runPair) usage(of string, counts func(request) bool) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherUsage, Repeat: p.Repeat}
	n, is := len(p.index), indicator(counts)
	for i := range p.index {
		d.Base += is(p.base[i]) / float64(n)
		d.Head += is(p.head[i]) / float64(n)
	}
	d.Text = fmt.Sprintf("requests for which the server reports %s: base %.0f %%, head %.0f %%", of, 100*d.Base, 100*d.Head)
	return d, n >= leastRequests && math.Abs(d.Head-d.Base) > otherUsage
}

// lengths compares the tokens per answer, or its characters where no server counts tokens. It reports a smaller
// difference, too.
func (p *runPair) lengths() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherLengths, Repeat: p.Repeat}
	use, of, text := counted, outputTokens, "output tokens per request: base %.4g, head %.4g"
	counts := func(r request) bool { return r.output > 0 }
	if !slices.ContainsFunc(p.base, counts) && !slices.ContainsFunc(p.head, counts) {
		use, of = func(b, h request) bool { return b.known && h.known }, func(r request) float64 { return float64(r.chars) }
		text = "characters of text, or numbers, per answer: base %.4g, head %.4g"
	}
	if d.Base, d.Head, differs = p.ratio(use, of, one, otherLengths, true); !differs {
		prompts := *p
		prompts.onePrompt, d.Shown = true, true
		d.Base, d.Head, differs = prompts.ratio(use, of, one, shownLengths, true)
	}
	d.Text = fmt.Sprintf(text, d.Base, d.Head)
	return d, differs
}

// characters compares the characters per token. A smaller difference counts if the events show the same.
func (p *runPair) characters() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherTexts, Repeat: p.Repeat}
	use := func(b, h request) bool { return b.known && h.known && counted(b, h) }
	characters := func(r request) float64 { return float64(r.chars) }
	d.Base, d.Head, differs = p.ratio(use, characters, outputTokens, otherCharacters, true)
	d.Text = fmt.Sprintf("characters of text per token that the server counts: base %.3g, head %.3g", d.Base, d.Head)
	if differs {
		return d, true
	}
	_, _, fewer := p.ratio(use, characters, outputTokens, claimedTokens, true)
	perEventB, perEventH, larger := p.ratio(use, outputTokens, events, claimedTokens, true)
	alike := math.Abs(d.Head*perEventH/(d.Base*perEventB)-1) <= claimedTokens
	d.Text += fmt.Sprintf("; tokens that it counts per event: base %.3g, head %.3g", perEventB, perEventH)
	return d, fewer && larger && alike
}

// fewerTokens compares the shares of requests for which a server counts fewer tokens than it sent events with tokens.
func (p *runPair) fewerTokens() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherUsage, Repeat: p.Repeat}
	d.Base, d.Head, differs = p.ratio(counted, indicator(func(r request) bool { return r.output < r.events }), one, otherShare, false)
	d.Text = fmt.Sprintf("answers of which the server counts fewer tokens than it streamed: base %.0f %%, head %.0f %%",
		100*d.Base, 100*d.Head)
	return d, differs
}

// events compares the tokens per event. Engines may choose them freely, so a difference is only shown.
func (p *runPair) events() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherEvents, Repeat: p.Repeat, Shown: true}
	d.Base, d.Head, differs = p.ratio(counted, outputTokens, events, otherEvents, true)
	d.Text = fmt.Sprintf("tokens per event: base %.3g, head %.3g, so that times between events are of other pieces", d.Base, d.Head)
	return d, differs
}

func (p *runPair) finish() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherFinish, Repeat: p.Repeat, Shown: true}
	d.Base, d.Head, differs = p.ratio(counted, indicator(func(r request) bool { return r.limited }), one, otherShare, false)
	d.Text = fmt.Sprintf("answers that the limit of their length ended: base %.0f %%, head %.0f %%", 100*d.Base, 100*d.Head)
	return d, differs
}

func (p *runPair) blank() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.BlankTokens, Repeat: p.Repeat, Shown: true}
	use := func(b, h request) bool { return b.known && h.known && counted(b, h) }
	d.Base, d.Head, differs = p.ratio(use, indicator(func(r request) bool { return r.blank }), one, otherShare, false)
	d.Text = fmt.Sprintf(
		"requests whose first token came without text: base %.0f %%, head %.0f %%; the time to first token is to the first text",
		100*d.Base, 100*d.Head)
	return d, differs
}

// parts are the parts of an answer by which answers to several prompts can be one.
var parts = []struct {
	name  string
	known func(request) bool
	of    func(request) uint32
}{
	{"answers", func(r request) bool { return r.known }, func(r request) uint32 { return r.sum }},
	{"first words of answers", func(r request) bool { return r.known }, func(r request) uint32 { return r.begin }},
	{"first characters of answers", func(r request) bool { return r.firstly }, func(r request) uint32 { return r.first }},
	{"last words of answers", func(r request) bool { return r.ended }, func(r request) uint32 { return r.end }},
}

// repeated compares the shares of requests whose answer, beginning or end another prompt got, too.
func (p *runPair) repeated() (d result.RequestDifference, differs bool) {
	for _, part := range parts {
		d = result.RequestDifference{What: result.RepeatedAnswers, Repeat: p.Repeat}
		var use []int
		for i := range p.index {
			if b, h := p.base[i], p.head[i]; part.known(b) && part.known(h) && b.chars > 0 && h.chars > 0 && b.asked != 0 {
				use = append(use, i)
			}
		}
		if len(use) < leastRequests {
			continue
		}
		d.Base, d.Head = shareRepeated(p.base, use, part.of), shareRepeated(p.head, use, part.of)
		mean := (d.Base + d.Head) / 2
		se := math.Sqrt(2 * mean * (1 - mean) / float64(len(use)))
		d.Text = fmt.Sprintf("%s that another prompt got, too: base %.0f %%, head %.0f %%", part.name, 100*d.Base, 100*d.Head)
		if difference := math.Abs(d.Head - d.Base); difference > repeatedShare && difference > (otherErrors-1)*se {
			return d, true
		}
	}
	return p.canned()
}

// canned compares the shares of long answers that another prompt got, too, where one side repeats none. Each prompt
// counts once: answers to it repeat in every repeat.
func (p *runPair) canned() (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.RepeatedAnswers, Repeat: p.Repeat}
	var use []int
	seen := map[uint32]bool{0: true}
	for i := range p.index {
		b, h := p.base[i], p.head[i]
		if b.known && h.known && min(b.chars, h.chars) >= movedCharacters && !seen[b.asked] {
			use, seen[b.asked] = append(use, i), true
		}
	}
	if len(use) < leastRequests {
		return d, false
	}
	of := parts[0].of
	d.Base, d.Head = shareRepeated(p.base, use, of), shareRepeated(p.head, use, of)
	se := math.Sqrt((d.Base*(1-d.Base) + d.Head*(1-d.Head)) / float64(len(use)))
	d.Text = fmt.Sprintf("answers of %d characters or more that another prompt got, too: base %.1f %%, head %.1f %%", movedCharacters,
		100*d.Base, 100*d.Head)
	difference := math.Abs(d.Head - d.Base)
	return d, min(d.Base, d.Head) <= neverRepeated && difference > cannedShare && difference > cannedErrors*se
}

// shareRepeated returns the share of requests for which a part of the answer is that of another prompt's.
func shareRepeated(side []request, use []int, of func(request) uint32) float64 {
	asked, several := map[uint32]uint32{}, map[uint32]bool{}
	for _, i := range use {
		r := side[i]
		if before, seen := asked[of(r)]; seen && before != r.asked {
			several[of(r)] = true
		}
		asked[of(r)] = r.asked
	}
	n := 0
	for _, i := range use {
		if several[of(side[i])] {
			n++
		}
	}
	return float64(n) / float64(len(use))
}

// texts counts equal greedy answers.
func (p *runPair) texts() {
	for i := range p.index {
		b, h := p.base[i], p.head[i]
		if !b.known || !h.known || b.continues || h.continues {
			continue
		}
		p.Texts++
		if b.firstly && h.firstly {
			p.firsts++
			if b.first == h.first {
				p.alikeFirst++
			}
		}
		if b.begin == h.begin {
			p.AlikeBegin++
		}
		if b.sum == h.sum {
			p.Equal++
		}
	}
}

// moved finds greedy answers that the two sides gave to different prompts.
func (p *runPair) moved(name, other string, from, to []request) (result.RequestDifference, bool) {
	d := result.RequestDifference{What: result.MovedAnswers, Repeat: p.Repeat}
	origin, target := once(from), once(to)
	moved, copied, example := 0, map[int]bool{}, [2]int{}
	for i := range p.index {
		j, there := origin[to[i].sum]
		if !there || j < 0 || i == j || from[i].begin == from[j].begin || from[i].asked == from[j].asked ||
			from[i].asked == 0 || from[j].asked == 0 || from[j].chars < movedCharacters {
			continue
		}
		if len(copied) == 0 {
			example = [2]int{p.index[i], p.index[j]}
		}
		copied[j] = true
		if target[to[i].sum] >= 0 { // and the answer of j is another one
			moved++
		}
	}
	share := float64(len(copied)) / float64(max(p.Requests, 1))
	if d.Head = share; other == "base" {
		d.Base, d.Head = share, 0
	}
	d.Text = fmt.Sprintf(
		"%d of %d greedy answers of the %s are those that the %s gave to other prompts: request %d got the answer to request %d", len(copied),
		p.Requests, other, name, example[0], example[1])
	return d, moved >= leastMoved || len(copied) >= leastCopied && share > copiedShare
}

// once maps the sum of each text to the only request with it; -1 if there are several.
func once(side []request) map[uint32]int {
	out := map[uint32]int{}
	for i, r := range side {
		if !r.known {
			continue
		}
		if _, seen := out[r.sum]; seen {
			out[r.sum] = -1
			continue
		}
		out[r.sum] = i
	}
	return out
}

// beginnings reports if most greedy answers differ from the first words on. Different numerics can cause that
// in an undecided model, so it does not prove different work. But if nearly all answers differ in their first
// characters, one side generates other texts or none.
func beginnings(pairs []runPair) (result.RequestDifference, bool) {
	d := result.RequestDifference{What: result.OtherBeginnings, Repeat: pairs[0].Repeat, Base: 1, Shown: true}
	texts, alike, firsts, alikeFirst := 0, 0, 0, 0
	for _, p := range pairs {
		texts, alike = texts+p.Texts, alike+p.AlikeBegin
		firsts, alikeFirst = firsts+p.firsts, alikeFirst+p.alikeFirst
	}
	if firsts >= leastFirsts && float64(alikeFirst) < alikeFirsts*float64(firsts) {
		d.Shown, d.Head = false, float64(alikeFirst)/float64(firsts)
		d.Text = fmt.Sprintf("%d of %d greedy answers of the sides have the same first characters: compare the answers by an answers block, or, "+
			"if these are two models, name them by model and served_name, or say differ = [%q]", alikeFirst, firsts, Model)
		return d, true
	}
	if firsts >= leastFirsts && float64(alikeFirst) >= sureFirsts*float64(firsts) && float64(alike) <= partedBeginnings*float64(texts) {
		d.Shown, d.Head = false, float64(alike)/float64(texts)
		d.Text = fmt.Sprintf("%d of %d greedy answers of the sides have the same first characters, and %d the same first words: compare the "+
			"answers by an answers block", alikeFirst, firsts, alike)
		return d, true
	}
	if texts < leastRequests {
		return d, false
	}
	d.Head = float64(alike) / float64(texts)
	d.Text = fmt.Sprintf(
		"%d of %d greedy answers of the sides begin alike: an answers block and its gate show whether the head answers as well", alike, texts)
	return d, d.Head < alikeBeginnings
}
