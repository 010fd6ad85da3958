package comparability_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
	"pgregory.net/rapid"
)

// asked is a request of a test: its prompt and the answer to it.
type asked struct {
	record.Request
	text string
}

// answered are n requests with distinct prompts, answered in full with the text that say returns. What
// change does to them is what a head does otherwise.
func answered(n int, say func(i int) string, change func(i int, q *asked)) []record.Request {
	var out []record.Request
	for i := range n {
		q := asked{record.Request{Index: i, PromptTokens: 256, WantTokens: 32, OutputTokens: 32, Finish: "length", Asked: uint32(1000 + i)},
			say(i)}
		q.Events = make([]record.Event, 32)
		if change != nil {
			change(i, &q)
		}
		q.Text = &record.Text{Chars: len(q.text), Sum: sumOf(q.text), Begin: sumOf(q.text[:min(len(q.text), record.BeginBytes)]),
			End:   sumOf(q.text[max(len(q.text)-record.EndBytes, 0):]),
			First: sumOf(q.text[:min(len(q.text), record.FirstBytes)]), Blank: blankOf(q)}
		out = append(out, q.Request)
	}
	return out
}

func blankOf(q asked) int {
	if q.Status == 299 { // of a test: its first token has no text
		return 1
	}
	return 0
}

func sumOf(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}

// sampled texts are other ones at every call, of about as many characters.
func sampled(rng *rand.Rand) func(int) string {
	return func(int) string {
		b := make([]byte, 90+rng.IntN(60))
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
}

// greedyText is the same at every call for a prompt.
func greedyText(i int) string { return sampled(rand.New(rand.NewPCG(uint64(i), 7)))(i) }

// cell is a side with the same requests in each of some repeats.
func cell(temperature string, repeats int, requests func(repeat int) []record.Request) *result.Cell {
	c := &result.Cell{Hash: "c", Work: comparability.Facts{"temperature": temperature}}
	for r := 1; r <= repeats; r++ {
		c.Runs = append(c.Runs, result.Run{
			Repeat: r, Status: result.RunOK, Audit: map[string]any{"work_hash": fmt.Sprint(r)},
			Requests: comparability.CollectRequests(record.ListOf(requests(r)...), record.List{}),
		})
	}
	return c
}

// TestRequestsOfCheats: a head that does other work is found, in what it does otherwise.
func TestRequestsOfCheats(t *testing.T) {
	const n = 40
	for _, tt := range []struct {
		name        string
		temperature string
		change      func(i int, q *asked)
		want        []result.DifferentRequests // that keep the sides from being compared
		shown       []result.DifferentRequests
	}{
		{"as honest as the base", "0", nil, nil, nil},
		{"half prompts", "0", func(_ int, q *asked) { q.PromptTokens = 128 }, []result.DifferentRequests{result.OtherPrompts}, nil},
		{"one prompt cut", "0.7", func(i int, q *asked) { q.PromptTokens -= i / (n - 1) }, []result.DifferentRequests{result.OtherPrompts}, nil},
		{"prompts exchanged", "0", func(i int, q *asked) { q.PromptTokens += 2*(i%2) - 1 }, []result.DifferentRequests{result.OtherPrompts}, nil},
		{"prompts that repeat answers", "0", func(_ int, q *asked) { q.PromptTokens, q.Continues = 300, true }, nil, nil},
		{"claimed tokens", "0.7", func(_ int, q *asked) { q.text, q.Events = q.text[:2*len(q.text)/3], q.Events[:22] },
			[]result.DifferentRequests{result.OtherTexts}, []result.DifferentRequests{result.OtherEvents}},
		{"padded with nothing", "0.7", func(_ int, q *asked) { q.text = q.text[:len(q.text)/2] }, []result.DifferentRequests{result.OtherTexts},
			nil},
		{"answers of half the length", "0.7", func(_ int, q *asked) {
			q.text, q.Events, q.OutputTokens = q.text[:len(q.text)/2], q.Events[:16],
				16
		}, []result.DifferentRequests{result.OtherLengths}, nil},
		{"answers a fifth shorter", "0.7", func(i int, q *asked) {
			q.text, q.Events, q.OutputTokens = q.text[:4*len(q.text)/5], q.Events[:25], 25+i%2
		}, nil, []result.DifferentRequests{result.OtherLengths}},
		{"no usage", "0.7", func(_ int, q *asked) { q.PromptTokens, q.OutputTokens = 0, 0 },
			[]result.DifferentRequests{result.OtherUsage}, nil},
		{"no usage of one answer in eight", "0.7", func(i int, q *asked) { q.OutputTokens *= min(i%8, 1) },
			[]result.DifferentRequests{result.OtherUsage}, nil},
		{"no prompt tokens", "0.7", func(_ int, q *asked) { q.PromptTokens = 0 }, []result.DifferentRequests{result.OtherUsage}, nil},
		{"a canned opening", "0.7", func(i int, q *asked) { q.text = "Sure, here is the answer to your question: " + q.text[20:] },
			[]result.DifferentRequests{result.OtherTexts, result.RepeatedAnswers}, nil},
		{"a constant first token", "0.7", func(i int, q *asked) { q.text = "Well" + q.text }, []result.DifferentRequests{result.RepeatedAnswers},
			nil},
		{"a canned ending", "0.7", func(i int, q *asked) { q.text = q.text[:60] + "and so on, as was said above in this text" },
			[]result.DifferentRequests{result.OtherTexts, result.RepeatedAnswers}, nil},
		{"several tokens an event", "0", func(_ int, q *asked) { q.Events = q.Events[:12] }, nil, []result.DifferentRequests{result.OtherEvents}},
		{"a blank first token", "0", func(_ int, q *asked) { q.Status = 299 }, nil, []result.DifferentRequests{result.BlankTokens}},
		{"one constant answer", "0.7", func(_ int, q *asked) { q.text = greedyText(1) }, []result.DifferentRequests{result.RepeatedAnswers}, nil},
		{"four cached answers", "0.7", func(i int, q *asked) { q.text = greedyText(i % 4) }, []result.DifferentRequests{result.RepeatedAnswers},
			nil},
		{"two answers swapped", "0", func(i int, q *asked) {
			if i == 3 || i == 9 {
				q.text = greedyText(12 - i)
			}
		}, []result.DifferentRequests{result.MovedAnswers}, nil},
		{"three answers from a cache", "0", func(i int, q *asked) {
			if i >= n-3 {
				q.text = greedyText(i - 20)
			}
		}, []result.DifferentRequests{result.MovedAnswers}, nil},
		{"one refusal more", "0", func(i int, q *asked) {
			if i == 5 {
				q.text = greedyText(8)
			}
		}, nil, nil},
		{"other greedy answers", "0", func(i int, q *asked) { q.text = greedyText(i + 1000) }, []result.DifferentRequests{result.OtherBeginnings},
			nil},
		{"greedy answers that part after a word", "0", func(i int, q *asked) { q.text = q.text[:8] + greedyText(i + 1000)[8:] },
			[]result.DifferentRequests{result.OtherBeginnings}, nil},
		{"greedy answers that part early", "0", func(i int, q *asked) {
			if i%8 != 0 {
				q.text = q.text[:8] + greedyText(i + 1000)[8:]
			}
		}, nil,
			[]result.DifferentRequests{result.OtherBeginnings}},
		{"some claimed tokens", "0.7", func(_ int, q *asked) { q.text, q.Events = q.text[:27*len(q.text)/32], q.Events[:27] },
			[]result.DifferentRequests{result.OtherTexts}, []result.DifferentRequests{result.OtherEvents}},
		{"some tokens that are not claimed", "0.7", func(_ int, q *asked) { q.OutputTokens = 27 },
			[]result.DifferentRequests{result.OtherTexts, result.OtherUsage},
			[]result.DifferentRequests{result.OtherLengths, result.OtherEvents}},
		{"a token of some answers that is not claimed", "0.7", func(i int, q *asked) { q.OutputTokens -= min(i%3, 1) },
			[]result.DifferentRequests{result.OtherUsage}, []result.DifferentRequests{result.OtherLengths}},
		{"other sampled answers", "0.7", func(i int, q *asked) { q.text = greedyText(i + 1000) }, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := cell(tt.temperature, 3, func(int) []record.Request { return answered(n, greedyText, nil) })
			head := cell(tt.temperature, 3, func(int) []record.Request { return answered(n, greedyText, tt.change) })
			for _, sides := range [][2]*result.Cell{{base, head}, {head, base}} {
				got, ok := comparability.CompareRequests("benchmark.b", sides[0], sides[1])
				if !ok || len(got.Pairs) != 3 || got.Pairs[0].Requests != n {
					t.Fatalf("%+v", got)
				}
				var invalid, shown []result.DifferentRequests
				for _, d := range got.Differences {
					if d.Shown {
						shown = append(shown, d.What)
					} else {
						invalid = append(invalid, d.What)
					}
				}
				if !slices.Equal(slices.Compact(invalid), tt.want) || !slices.Equal(shown, tt.shown) {
					t.Errorf("%v and %v, want %v and %v: %+v", invalid, shown, tt.want, tt.shown, got.Differences)
				}
			}
		})
	}
}

// TestRequestsWithoutUsage: where neither side counts tokens, the texts show an answer of half the length.
func TestRequestsWithoutUsage(t *testing.T) {
	const n = 40
	of := func(cut int) *result.Cell {
		return cell("0.7", 3, func(int) []record.Request {
			return answered(n, greedyText, func(_ int, q *asked) {
				q.PromptTokens, q.OutputTokens = 0, 0
				q.text = q.text[:len(q.text)/cut]
			})
		})
	}
	for cut, want := range map[int][]result.DifferentRequests{1: nil, 2: {result.OtherLengths}} {
		got, _ := comparability.CompareRequests("benchmark.b", of(1), of(cut))
		var found []result.DifferentRequests
		for _, d := range got.Differences {
			found = append(found, d.What)
		}
		if !slices.Equal(found, want) {
			t.Errorf("answers of 1/%d of the length: %+v, want %v", cut, got.Differences, want)
		}
	}
}

// TestRequestsOfHonestSides: noise alone is never other work. Sampled answers differ in text, length and
// finish reason, requests fail here and there, short answers are repeated, and greedy answers part.
func TestRequestsOfHonestSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, repeats := rapid.IntRange(8, 120).Draw(t, "requests"), rapid.IntRange(1, 6).Draw(t, "repeats")
		temperature := rapid.SampledFrom([]string{"0", "0.7"}).Draw(t, "temperature")
		ends, short, failing, parting := rapid.Bool().Draw(t, "ends"), rapid.Bool().Draw(t, "short"), rapid.Bool().Draw(t, "failing"),
			rng.Float64()
		side := func() *result.Cell {
			return cell(temperature, repeats, func(int) []record.Request {
				return answered(n, greedyText, func(i int, q *asked) {
					switch {
					case short:
						q.text = []string{"yes", "no", "42", "17"}[(i+rng.IntN(2))%4]
						q.OutputTokens, q.Events, q.Finish = 2, q.Events[:2], "stop"
					case temperature != "0" || rng.Float64() < parting:
						from := rng.IntN(len(q.text))
						q.text = q.text[:from] + (sampled(rng)(i) + sampled(rng)(i))[:len(q.text)-from]
						if temperature != "0" {
							q.text = sampled(rng)(i)
						}
					}
					if ends && !short {
						k := 1 + rng.IntN(31)
						q.text, q.OutputTokens, q.Finish = q.text[:len(q.text)*k/32], k, "stop"
						q.Events = q.Events[:k]
					}
					if failing && rng.IntN(10) == 0 {
						q.Failure = record.FailTimeout
					}
				})
			})
		}
		got, _ := comparability.CompareRequests("benchmark.b", side(), side())
		for _, d := range got.Differences {
			if !d.Shown {
				t.Fatalf("honest sides differ: %s", d.Text)
			}
		}
	})
}

// TestClaimedTokensOfSampledAnswers: when the sides' texts differ, the number of events shows whether a side claims
// tokens that it did not send. Fewer events for the same text are honest.
func TestClaimedTokensOfSampledAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	side := func(change func(q *asked)) *result.Cell {
		return cell("0.7", 3, func(int) []record.Request {
			return answered(100, sampled(rng), func(_ int, q *asked) { change(q) })
		})
	}
	for name, tt := range map[string]struct {
		change func(q *asked)
		want   bool
	}{
		"honest":                          {func(*asked) {}, false},
		"larger events":                   {func(q *asked) { q.Events = q.Events[:27] }, false},
		"shorter texts and larger events": {func(q *asked) { q.text, q.Events = q.text[:92*len(q.text)/100], q.Events[:27] }, false},
		"claimed tokens":                  {func(q *asked) { q.text, q.Events = q.text[:27*len(q.text)/32], q.Events[:27] }, true},
		"unclaimed tokens":                {func(q *asked) { q.OutputTokens = 27 }, true},
	} {
		got, _ := comparability.CompareRequests("benchmark.b", side(func(*asked) {}), side(tt.change))
		if found := slices.ContainsFunc(got.Differences, func(d result.RequestDifference) bool { return !d.Shown }); found != tt.want {
			t.Errorf("%s: %+v, want found %v", name, got.Differences, tt.want)
		}
	}
}

// TestOnePromptCountsOnce: greedy answers to the same prompts part at the same near-ties in every repeat, which shows no
// more about the length of answers than one repeat does.
func TestOnePromptCountsOnce(t *testing.T) {
	side := func(shorter bool) *result.Cell {
		return cell("0", 12, func(int) []record.Request {
			return answered(40, greedyText, func(i int, q *asked) {
				if shorter && i%4 == 0 { // ten prompts end 14 tokens earlier: a tenth of all tokens
					q.text, q.Events, q.OutputTokens = q.text[:len(q.text)*18/32], q.Events[:18], 18
				}
			})
		})
	}
	got, _ := comparability.CompareRequests("benchmark.b", side(false), side(true))
	for _, d := range got.Differences {
		if d.What == result.OtherLengths {
			t.Errorf("%+v", d)
		}
	}
}

// TestCannedAnswers: a side that gives one long answer to each tenth prompt did less for it, if the other side never
// does. Short answers, and prompts of which both sides answer several alike, show nothing.
func TestCannedAnswers(t *testing.T) {
	const busy = "The server is busy at the moment. Please try again in a little while."
	side := func(text string, one int) *result.Cell {
		return cell("0.7", 3, func(repeat int) []record.Request {
			return answered(200, func(i int) string { return greedyText(i + 1000*repeat) }, func(i int, q *asked) {
				if q.Asked += uint32(1000 * repeat); i%10 < one {
					q.text = text
				}
			})
		})
	}
	for name, tt := range map[string]struct {
		base, head *result.Cell
		want       bool
	}{
		"one in ten":               {side(busy, 0), side(busy, 1), true},
		"one in ten of the base":   {side(busy, 1), side(busy, 0), true},
		"none":                     {side(busy, 0), side(busy, 0), false},
		"short answers":            {side("yes", 0), side("yes", 1), false},
		"both sides, not as often": {side(busy, 1), side(busy, 2), false},
	} {
		got, _ := comparability.CompareRequests("benchmark.b", tt.base, tt.head)
		found := slices.ContainsFunc(got.Differences, func(d result.RequestDifference) bool {
			return d.What == result.RepeatedAnswers && !d.Shown
		})
		if found != tt.want {
			t.Errorf("%s: %+v", name, got.Differences)
		}
	}
}

// TestVectors: embeddings and rankings have no tokens. A head that returns one for all prompts, or a shorter one, does other
// work; other numerics are no difference.
func TestVectors(t *testing.T) {
	of := func(size int, sum func(i int) uint32) *result.Cell {
		return cell("0", 3, func(int) (out []record.Request) {
			for i := range 40 {
				out = append(out, record.Request{Index: i, PromptTokens: 64, Asked: uint32(1000 + i), Events: make([]record.Event, 1),
					Text: &record.Text{Chars: size, Sum: sum(i)}})
			}
			return out
		})
	}
	own := func(i int) uint32 { return uint32(7 * i) }
	for name, tt := range map[string]struct {
		head *result.Cell
		want []result.DifferentRequests
	}{
		"the same":           {of(64, own), nil},
		"other numerics":     {of(64, func(i int) uint32 { return uint32(11*i + 5) }), nil},
		"one for all":        {of(64, func(int) uint32 { return 3 }), []result.DifferentRequests{result.RepeatedAnswers}},
		"each fourth cached": {of(64, func(i int) uint32 { return own(i - i%4/3) }), []result.DifferentRequests{result.RepeatedAnswers}},
		"half as long":       {of(32, own), []result.DifferentRequests{result.OtherLengths}},
	} {
		got, _ := comparability.CompareRequests("benchmark.b", of(64, own), tt.head)
		var found []result.DifferentRequests
		for _, d := range got.Differences {
			if found = append(found, d.What); d.Shown {
				t.Errorf("%s: it does not decide: %+v", name, d)
			}
		}
		if !slices.Equal(found, tt.want) {
			t.Errorf("%s: %+v, want %v", name, got.Differences, tt.want)
		}
	}
}

// TestRequestsThatAreCompared: those of valid runs of one repeat and pass with the same prompts.
func TestRequestsThatAreCompared(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *result.Run)
		want   int // pairs
		have   bool
	}{
		"valid":            {func(*result.Run) {}, 2, true},
		"void":             {func(r *result.Run) { r.Status = result.RunVoid }, 1, true},
		"another pass":     {func(r *result.Run) { r.Pass = 1 }, 1, true},
		"other prompts":    {func(r *result.Run) { r.Audit["work_hash"] = "x" }, 1, true},
		"not counted":      {func(r *result.Run) { r.Requests = nil }, 1, true},
		"without digest":   {func(r *result.Run) { r.Requests.Digest = "" }, 1, true},
		"another repeat":   {func(r *result.Run) { r.Repeat = 7 }, 1, true},
		"in another order": {func(r *result.Run) { r.Repeat, r.Audit["work_hash"] = 3, "3" }, 2, true},
	} {
		of := func() *result.Cell {
			return cell("0.7", 3, func(int) []record.Request { return answered(9, greedyText, nil) })
		}
		for side := range 2 {
			sides := []*result.Cell{of(), of()}
			sides[1-side].Runs = sides[1-side].Runs[1:] // repeats 2 and 3
			own := sides[side]
			own.Runs = own.Runs[:2]
			if tt.change(&own.Runs[0]); name == "in another order" {
				sides[1-side].Runs[0], sides[1-side].Runs[1] = sides[1-side].Runs[1], sides[1-side].Runs[0]
			}
			if name == "valid" {
				own.Runs = of().Runs
			} else if name != "in another order" { // repeat 2 has the change, and repeat 3 has none
				own.Runs = of().Runs[1:]
				tt.change(&own.Runs[0])
			}
			got, ok := comparability.CompareRequests("benchmark.b", sides[0], sides[1])
			byRepeat := func(a, b result.PairedRequests) int { return a.Repeat - b.Repeat }
			if !ok || len(got.Pairs) != tt.want || !slices.IsSortedFunc(got.Pairs, byRepeat) {
				t.Errorf("%s: %+v", name, got.Pairs)
			}
			own.Runs = own.Runs[:1]
			if name == "in another order" || name == "valid" || name == "without digest" {
				continue
			}
			if comparability.HaveRequests(sides[0], sides[1]) {
				t.Errorf("%s: it has requests that are compared", name)
			}
		}
	}
}

// TestFewRequestsShowNothing: of seven requests no mean is compared, whatever they are.
func TestFewRequestsShowNothing(t *testing.T) {
	of := func(change func(i int, q *asked)) *result.Cell {
		return cell("0", 1, func(int) []record.Request { return answered(7, greedyText, change) })
	}
	got, _ := comparability.CompareRequests("benchmark.b", of(nil), of(func(_ int, q *asked) {
		q.text, q.OutputTokens, q.Events = strings.Repeat("x", 40), 0, q.Events[:1]
	}))
	fewer, _ := comparability.CompareRequests("benchmark.b", of(nil), of(func(_ int, q *asked) { q.OutputTokens = 8 }))
	if len(got.Differences)+len(fewer.Differences) > 0 {
		t.Errorf("%+v and %+v", got.Differences, fewer.Differences)
	}
}

// TestHonestAnswersOfOneSide: what looks alike and shows nothing.
func TestHonestAnswersOfOneSide(t *testing.T) {
	for name, tt := range map[string]struct {
		n      int
		head   string // temperature
		change func(i int, q *asked)
	}{
		"sampled by the head":       {40, "0.7", func(i int, q *asked) { q.text = greedyText(i + 1000) }},
		"turns that repeat answers": {40, "0", func(i int, q *asked) { q.text, q.Continues = greedyText(i+1000), true }},
		"four in ten repeated":      {10, "0.7", func(i int, q *asked) { q.text = greedyText(max(i, 3)) }},
		"one answer moved": {40, "0", func(i int, q *asked) {
			if to, ok := map[int]int{9: 1000, 39: 9}[i]; ok {
				q.text = greedyText(to)
			}
		}},
		"one answer moved to two": {40, "0", func(i int, q *asked) {
			if to, ok := map[int]int{9: 1000, 38: 9, 39: 9}[i]; ok {
				q.text = greedyText(to)
			}
		}},
		"prompts that are not known": {40, "0", func(i int, q *asked) {
			if q.Asked = 0; i < 2 {
				q.text = greedyText(1 - i)
			}
		}},
		"a prompt that comes twice": {40, "0", func(i int, q *asked) {
			if i < 2 {
				q.Asked, q.text = 7, greedyText(1-i)
			}
		}},
		"three of two hundred": {200, "0", func(i int, q *asked) { q.text = greedyText(i - i/197*20) }},
		"two short ones swapped": {40, "0", func(i int, q *asked) {
			if i < 2 {
				q.text = greedyText(1 - i)
			}
			q.text = q.text[:30]
		}},
	} {
		base := cell("0", 1, func(int) []record.Request {
			return answered(tt.n, greedyText, func(i int, q *asked) {
				switch name {
				case "two short ones swapped":
					q.text = q.text[:30]
				case "prompts that are not known":
					q.Asked = 0
				case "a prompt that comes twice":
					if i < 2 {
						q.Asked = 7
					}
				}
			})
		})
		head := cell(tt.head, 1, func(int) []record.Request { return answered(tt.n, greedyText, tt.change) })
		got, _ := comparability.CompareRequests("benchmark.b", base, head)
		if len(got.Differences) > 0 {
			t.Errorf("%s: %+v", name, got.Differences)
		}
	}
}

// TestAnswersThatSeveralPromptsGet: what the base answers to several prompts was not copied from one of them.
func TestAnswersThatSeveralPromptsGet(t *testing.T) {
	of := func(more int) *result.Cell {
		return cell("0", 1, func(int) []record.Request {
			return answered(40, greedyText, func(i int, q *asked) {
				switch {
				case i < 6:
					q.text = greedyText(100 + i/2)
				case i >= 20 && i < 20+more:
					q.text = greedyText(100 + i - 20)
				}
			})
		})
	}
	if got, _ := comparability.CompareRequests("benchmark.b", of(0), of(3)); len(got.Differences) > 0 {
		t.Errorf("%+v", got.Differences)
	}
}

// TestLengthsAreSharesOfTheLarger: whichever side has more.
func TestLengthsAreSharesOfTheLarger(t *testing.T) {
	of := func(tokens int) *result.Cell {
		return cell("0.7", 3, func(int) []record.Request {
			return answered(40, func(i int) string { return strings.Repeat(greedyText(i), 2)[:4*tokens] }, func(_ int, q *asked) {
				q.OutputTokens, q.Events = tokens, make([]record.Event, tokens)
			})
		})
	}
	for _, sides := range [][2]*result.Cell{{of(30), of(44)}, {of(44), of(30)}} { // 14 are 32 % of 44 and 47 % of 30
		got, _ := comparability.CompareRequests("benchmark.b", sides[0], sides[1])
		if len(got.Differences) != 1 || !got.Differences[0].Shown {
			t.Errorf("%+v", got.Differences)
		}
	}
}

// TestCopiedAnswers: the share of the side that has them is stated, and beginnings that part in most answers are shown.
func TestCopiedAnswers(t *testing.T) {
	base := cell("0", 1, func(int) []record.Request { return answered(40, greedyText, nil) })
	head := cell("0", 1, func(int) []record.Request {
		return answered(40, greedyText, func(i int, q *asked) { q.text = greedyText(i - i/37*20) })
	})
	for i, sides := range [][2]*result.Cell{{base, head}, {head, base}} {
		got, _ := comparability.CompareRequests("benchmark.b", sides[0], sides[1])
		want := [2]float64{0, 3. / 40}
		if i == 1 {
			want[0], want[1] = want[1], want[0]
		}
		if len(got.Differences) == 0 || got.Differences[0].What != result.MovedAnswers ||
			[2]float64{got.Differences[0].Base, got.Differences[0].Head} != want {
			t.Errorf("%+v, want %v", got.Differences, want)
		}
	}
	half := cell("0", 1, func(int) []record.Request {
		return answered(40, greedyText, func(i int, q *asked) { q.text = q.text[:8*(i%2)] + greedyText(i + 1000)[8*(i%2):] })
	})
	if got, _ := comparability.CompareRequests("benchmark.b", base, half); len(got.Differences) != 1 || !got.Differences[0].Shown {
		t.Errorf("half have the same first characters: %+v", got.Differences)
	}
	for alike, want := range map[int]int{16: 1, 24: 0} { // of 40
		head := cell("0", 1, func(int) []record.Request {
			return answered(40, greedyText, func(i int, q *asked) {
				if i >= alike {
					q.text = q.text[:8] + greedyText(i + 1000)[8:]
				}
			})
		})
		got, _ := comparability.CompareRequests("benchmark.b", base, head)
		if len(got.Differences) != want || want > 0 && !got.Differences[0].Shown {
			t.Errorf("%d of 40 begin alike: %+v", alike, got.Differences)
		}
	}
}
