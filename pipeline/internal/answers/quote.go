package answers

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// Limits of quotes, in bytes.
const (
	quoteBefore = 40
	quoteAfter  = 110
	quoteAsk    = 160
)

// Quote adds prompts and answers to the divergences of a document, from the records of its runs. It
// skips what cannot be read, because it decides nothing.
func Quote(doc *result.Document, open func(path string) (io.ReadCloser, error)) {
	for i := range doc.Answers {
		a := &doc.Answers[i]
		base, head := cellOf(doc, a.Benchmark, a.Base), cellOf(doc, a.Benchmark, a.Head)
		for k := range a.Divergences {
			d := &a.Divergences[k]
			was, ok := answerTo(base, d.Against, d.Prompt, open)
			is, also := answerTo(head, d.Repeat, d.Prompt, open)
			if ok && also {
				d.BaseText, d.HeadText = excerpts(was.Text, is.Text)
				d.Ask = tail(is.Ask, quoteAsk)
			}
		}
	}
}

func cellOf(doc *result.Document, benchmark, hash string) *result.Cell {
	for i := range doc.Benchmarks {
		if b := &doc.Benchmarks[i]; b.Addr == benchmark {
			if k := slices.IndexFunc(b.Cells, func(c result.Cell) bool { return c.Hash == hash }); k >= 0 {
				return &b.Cells[k]
			}
		}
	}
	return &result.Cell{}
}

// answerTo returns the answer to a prompt in a repeat.
func answerTo(cell *result.Cell, repeat, prompt int, open func(string) (io.ReadCloser, error)) (record.Answer, bool) {
	for _, r := range cell.Current() {
		if r.Pair() != repeat || r.Status != result.RunOK || r.Records == "" {
			continue
		}
		file, err := open(r.Records)
		if err != nil {
			return record.Answer{}, false
		}
		found, err := record.ReadAnswers(file, map[int]bool{prompt: true})
		_ = file.Close() // only read
		a, ok := found[prompt]
		return a, ok && err == nil
	}
	return record.Answer{}, false
}

// excerpts returns excerpts of two texts, from shortly before their first difference.
func excerpts(a, b string) (string, string) {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	start := max(0, from-quoteBefore)
	cut := func(s string) string {
		out := strings.ToValidUTF8(s[start:min(len(s), from+quoteAfter)], "")
		if start > 0 {
			out = "…" + out
		}
		if len(s) > from+quoteAfter {
			out += "…"
		}
		return out
	}
	return cut(a), cut(b)
}

// tail returns the end of a text.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "…" + s
}
