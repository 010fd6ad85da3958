package dataset

import (
	_ "embed"
	"math/rand/v2"
	"strings"
)

//go:embed sonnets.txt
var sonnets string

// minCorpus is the least number of token ids that prompts are drawn from.
const minCorpus = 64

// tokensPerByte is the length of English text in tokens of common tokenizers, used
// where the server cannot be asked.
const tokensPerByte = 0.3

// Text is the embedded text that a server's tokenizer is asked about: Shakespeare's
// sonnets, one line of verse per line.
func Text() string { return sonnets }

// Corpus is what prompts are cut from.
type Corpus struct {
	// IDs are the token ids of Text by the server's tokenizer, without special tokens.
	// With none, prompts are text.
	IDs []int
	// TokensPerByte estimates lengths of text; 0 means a typical value for English.
	TokensPerByte float64
	// Chat says that the endpoint takes messages: conversations are sent as such.
	Chat bool
	// Rerank says that the endpoint takes queries with documents.
	Rerank bool
}

// TextCorpus is the corpus for an endpoint that takes only text. ids, if the server's
// tokenizer gave them, make the estimate of lengths that of the server's own model.
func TextCorpus(ids []int) Corpus {
	if len(ids) < minCorpus {
		return Corpus{}
	}
	return Corpus{TokensPerByte: float64(len(ids)) / float64(len(sonnets))}
}

// drawer cuts prompts out of the corpus. Kinds sonnet and chat take whole lines of verse,
// or runs of consecutive ids of a line's average length; all others take single words or
// ids, so that no two prompts share more than they should.
type drawer struct {
	ids           []int
	run           int      // ids per draw
	lines         []string // units of text
	sep           string   // between units of text
	tokensPerByte float64
}

func newDrawer(lines bool, c Corpus) drawer {
	verses := strings.Split(strings.TrimSpace(sonnets), "\n")
	d := drawer{ids: c.IDs, run: 1, lines: verses, sep: "\n", tokensPerByte: c.TokensPerByte}
	if d.tokensPerByte <= 0 {
		d.tokensPerByte = tokensPerByte
	}
	if lines {
		d.run = max(len(c.IDs)/len(verses), 2)
	} else {
		d.lines, d.sep = strings.Fields(sonnets), " "
	}
	return d
}

// appendIDs appends runs until dst has n ids; the last run is cut.
func (d drawer) appendIDs(dst []int, n int, r *rand.Rand) []int {
	for len(dst) < n {
		at := r.IntN(len(d.ids) - d.run + 1)
		dst = append(dst, d.ids[at:at+min(d.run, n-len(dst))]...)
	}
	return dst
}

// text returns text of about total tokens of which the first prefix ones come from pr.
func (d drawer) text(prefix int, pr *rand.Rand, total int, r *rand.Rand) string {
	var b strings.Builder
	d.fill(&b, d.bytes(prefix), pr)
	d.fill(&b, d.bytes(total), r)
	return b.String()
}

// bytes is the length of text of so many tokens.
func (d drawer) bytes(tokens int) float64 { return float64(tokens) / d.tokensPerByte }

// estimate is the number of tokens of a text, at least 1.
func (d drawer) estimate(text string) int {
	return max(int(float64(len(text))*d.tokensPerByte+0.5), 1)
}

// fill appends lines or words until b has about the wanted number of bytes. The last
// line is cut after the word that reaches it.
func (d drawer) fill(b *strings.Builder, bytes float64, r *rand.Rand) {
	for float64(b.Len()) < bytes {
		for j, w := range strings.Fields(d.lines[r.IntN(len(d.lines))]) {
			if float64(b.Len()) >= bytes {
				return
			}
			switch {
			case b.Len() == 0:
			case j == 0:
				b.WriteString(d.sep)
			default:
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
	}
}
