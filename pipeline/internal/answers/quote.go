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
// skips what cannot be read, because it decides nothing. Each file of records is read once.
func Quote(doc *result.Document, open func(path string) (io.ReadCloser, error)) {
	wanted := map[string]map[int]bool{} // prompts by file
	eachDivergence(doc, func(d *result.Divergence, base, head string) {
		for _, path := range []string{base, head} {
			if wanted[path] == nil {
				wanted[path] = map[int]bool{}
			}
			wanted[path][d.Prompt] = true
		}
	})
	found := map[string]map[int]record.Answer{}
	for path, prompts := range wanted {
		found[path] = answersTo(path, prompts, open)
	}
	eachDivergence(doc, func(d *result.Divergence, base, head string) {
		was, ok := found[base][d.Prompt]
		is, also := found[head][d.Prompt]
		if ok && also {
			d.BaseText, d.HeadText = excerpts(was.Text, is.Text)
			d.Ask = tail(is.Ask, quoteAsk)
		}
	})
}

// eachDivergence calls do for each divergence with the files that hold its answers, "" where there is none.
func eachDivergence(doc *result.Document, do func(d *result.Divergence, base, head string)) {
	for i := range doc.Answers {
		a := &doc.Answers[i]
		base, head := cellOf(doc, a.Benchmark, a.Base), cellOf(doc, a.Benchmark, a.Head)
		for k := range a.Divergences {
			d := &a.Divergences[k]
			do(d, recordsOf(base, d.Against), recordsOf(head, d.Repeat))
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

// recordsOf returns the path of the records of a repeat, "" if there are none.
func recordsOf(cell *result.Cell, repeat int) string {
	for _, r := range cell.Current() {
		if r.Pair() == repeat && r.Status == result.RunOK && r.Records != "" {
			return r.Records
		}
	}
	return ""
}

// answersTo returns the answers to some prompts in a file of records, none if it cannot be read.
func answersTo(path string, prompts map[int]bool, open func(string) (io.ReadCloser, error)) map[int]record.Answer {
	if path == "" {
		return nil
	}
	file, err := open(path)
	if err != nil {
		return nil
	}
	found, err := record.ReadAnswers(file, prompts)
	_ = file.Close() // only read
	if err != nil {
		return nil
	}
	return found
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
