package answers_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/answers"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// answered is a request with an answer of some tokens.
func answered(index int, logprob float64, tokens ...string) record.Request {
	a := &record.Answer{Text: strings.Join(tokens, ""), Tokens: tokens}
	for range tokens {
		a.Logprobs = append(a.Logprobs, logprob)
	}
	return record.Request{Index: index, Answer: a}
}

// cell is one whose launches answered so, from repeat 1 on.
func cell(hash string, launches ...[]record.Request) *result.Cell {
	c := &result.Cell{Hash: hash}
	for i, requests := range launches {
		c.Runs = append(c.Runs, result.Run{Repeat: i + 1, Status: result.RunOK, Answers: answers.Collect(record.ListOf(requests...)),
			Records: fmt.Sprintf("%s-%d", hash, i+1)})
	}
	return c
}

func prompts(second ...string) []record.Request {
	return []record.Request{answered(0, -0.5, "a", "b", "c"), answered(1, -0.25, second...)}
}

// TestCompare: an answer that one of the base's launches gives is no difference, one that none
// gives is, from its first other token on, and a difference of log-probabilities is found beside
// equal words.
func TestCompare(t *testing.T) {
	base := cell("base", prompts("x", "y"), prompts("x", "z"), prompts("x", "y"))
	head := cell("head", prompts("x", "z"), prompts("x", "q"), []record.Request{answered(0, -0.6, "a", "b", "c"),
		answered(1, -0.25, "x", "y")})
	got := answers.Compare("answers.same", base, head)
	if got.Prompts != 2 || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	all := answers.Relative(&got, answers.Agreement).All()
	want := []result.Pair{{Repeat: 1, Base: 1, Head: 1}, {Repeat: 2, Base: 0.5, Head: 0.5}, {Repeat: 3, Base: 1, Head: 1}}
	for i, p := range all.Pairs {
		if w := want[i]; p.Repeat != w.Repeat || p.Base != w.Base || p.Head != w.Head {
			t.Errorf("agreement %+v, want %+v", p, w)
		}
	}
	tokens := answers.Relative(&got, answers.FirstDivergence).All().Pairs
	if tokens[1].Head != 2 || tokens[0].Head != 2.5 {
		t.Errorf("first divergence %+v", tokens)
	}
	if nats := answers.Relative(&got, answers.LogprobDifference).All().Pairs; nats[2].Head < 0.0499 || nats[2].Head > 0.0501 ||
		nats[2].Base != 0 {
		t.Errorf("difference of log-probabilities %+v", nats)
	}
	if len(got.Divergences) != 0 { // one launch of each side differs
		t.Errorf("divergences %+v", got.Divergences)
	}
}

// TestWithoutLogprobs: texts alone agree or do not, and nothing is said of what is not there.
func TestWithoutLogprobs(t *testing.T) {
	texts := func(second string) []record.Request {
		return []record.Request{{Index: 0, Answer: &record.Answer{Text: "same"}}, {Index: 1, Answer: &record.Answer{Text: second}},
			{Index: 2, Failure: record.FailShort}}
	}
	got := answers.Compare("answers.same", cell("base", texts("x"), texts("x")), cell("head", texts("y"), texts("y")))
	if got.Reason == "" || answers.Relative(&got, answers.LogprobDifference) != nil {
		t.Errorf("%+v", got)
	}
	if pairs := answers.Relative(&got, answers.Agreement).All().Pairs; len(pairs) != 2 || pairs[0].Base != 1 || pairs[0].Head != 0.5 {
		t.Errorf("%+v", pairs)
	}
}

// TestEnds: an answer that goes on where another ends parts from it there, and one that the limit cut is
// not one that ended, whatever tokens they have in common.
func TestEnds(t *testing.T) {
	ended := func(r record.Request) record.Request {
		r.Answer.Ended = true
		return r
	}
	abc, abcd := answered(0, -1, "a", "b", "c"), answered(0, -1, "a", "b", "c", "d")
	for name, tt := range map[string]struct {
		head      record.Request
		agreement float64
		tokens    float64
	}{
		"ends alike": {ended(answered(0, -1, "a", "b", "c")), 1, 4}, // the end is one more
		"goes on":    {abcd, 0, 3},
		"is cut":     {abc, 0, 3},
		"ends early": {ended(answered(0, -1, "a")), 0, 1},
		"other text": {record.Request{Answer: &record.Answer{Text: "abC", Tokens: []string{"a", "b", "c"}, Logprobs: []float64{-1, -1, -1},
			Ended: true}}, 0, 3},
		"text alone":  {record.Request{Answer: &record.Answer{Text: "abc", Ended: true}}, 1, 4},
		"other alone": {record.Request{Answer: &record.Answer{Text: "abd", Ended: true}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			of := []record.Request{ended(answered(0, -1, "a", "b", "c"))}
			got := answers.Compare("answers.same", cell("base", of, of, of), cell("head", []record.Request{tt.head}, []record.Request{tt.head},
				[]record.Request{tt.head}))
			if p := answers.Relative(&got, answers.Agreement).All().Pairs[0]; p.Base != 1 || p.Head != tt.agreement {
				t.Errorf("agreement %+v", p)
			}
			if p := answers.Relative(&got, answers.FirstDivergence).All().Pairs[0]; p.Base != 4 || p.Head != tt.tokens {
				t.Errorf("first divergence %+v", p)
			}
		})
	}
}

// TestQuote: what is shown of a divergence comes from the records of both launches, from shortly
// before the place. Each file is read once, whatever the number of divergences.
func TestQuote(t *testing.T) {
	long := strings.Repeat("w ", 100)
	base, head := cell("base", prompts(long, "y"), prompts(long, "y")), cell("head", prompts(long, "n"), prompts(long, "n"))
	doc := &result.Document{
		Benchmarks: []result.Benchmark{{Addr: "answers.same", Cells: []result.Cell{*base, *head}}},
		Answers:    []result.Answers{answers.Compare("answers.same", base, head)},
	}
	texts := map[string][]record.Request{"base-1": prompts(long, "y"), "base-2": prompts(long, "y"), "head-1": prompts(long, "n"),
		"head-2": prompts(long, "n")}
	twice := &doc.Answers[0].Divergences
	*twice = append(*twice, *twice...)
	opened := map[string]int{}
	answers.Quote(doc, func(path string) (io.ReadCloser, error) {
		opened[path]++
		var b bytes.Buffer
		err := record.Write(&b, record.Header{}, record.Run{Requests: record.ListOf(texts[path]...)}, nil)
		return io.NopCloser(&b), err
	})
	if len(*twice) != 2 || (*twice)[0] != (*twice)[1] {
		t.Fatalf("%+v", doc.Answers[0])
	}
	for path, n := range opened {
		if n != 1 {
			t.Errorf("%s is opened %d times", path, n)
		}
	}
	d := (*twice)[0]
	if d.Prompt != 1 || d.Token != 1 || d.Heads != 2 || d.Bases != 0 || !strings.HasSuffix(d.BaseText, "w y") ||
		!strings.HasSuffix(d.HeadText, "w n") || len(d.BaseText) > 50 {
		t.Errorf("%+v", d)
	}
}
