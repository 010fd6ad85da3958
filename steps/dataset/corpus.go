package dataset

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"sync"
)

//go:embed sonnets.txt
var sonnets string

// textVerses and textWords return the units of the text that prompts consist of.
var (
	textVerses = sync.OnceValue(func() []string { return strings.Split(strings.TrimSpace(sonnets), "\n") })
	textWords  = sync.OnceValue(func() []string { return strings.Fields(sonnets) })
)

// minCorpus is the smallest number of token IDs to draw prompts from.
const minCorpus = 64

// tokensPerByte is the typical number of tokens per byte of English text, used if the server has no tokenizer
// endpoint.
const tokensPerByte = 0.3

// Text returns the embedded text to be tokenized by the server: Shakespeare's sonnets, one verse per line.
func Text() string { return sonnets }

// Corpus is the material that prompts are cut from.
type Corpus struct {
	// IDs are the token IDs of Text from the server's tokenizer, without special tokens. If empty, prompts are
	// text.
	IDs []int
	// TokensPerByte estimates lengths of text; 0 means the typical value for English.
	TokensPerByte float64
	// Chat means that the endpoint takes messages, so conversations are sent as messages.
	Chat bool
	// Rerank means that the endpoint takes queries with documents.
	Rerank bool
}

// TextCorpus returns the corpus for an endpoint that takes only text. If the server's tokenizer gave ids, they
// determine the estimate of lengths.
func TextCorpus(ids []int) Corpus {
	if len(ids) < minCorpus {
		return Corpus{}
	}
	return Corpus{TokensPerByte: float64(len(ids)) / float64(len(sonnets))}
}

// drawer cuts prompts out of the corpus. Kinds sonnet and chat use whole verses, or runs of consecutive IDs of
// a verse's average length. All others use single words or IDs, so that two prompts share no more than
// intended.
type drawer struct {
	ids           []int
	run           int      // IDs per draw
	lines         []string // units of text: verses or words
	sep           string   // separator between units
	tokensPerByte float64
}

func newDrawer(lines bool, c Corpus) drawer {
	d := drawer{ids: c.IDs, run: 1, lines: textVerses(), sep: "\n", tokensPerByte: c.TokensPerByte}
	if d.tokensPerByte <= 0 {
		d.tokensPerByte = tokensPerByte
	}
	if lines {
		d.run = max(len(c.IDs)/len(textVerses()), 2)
	} else {
		d.lines, d.sep = textWords(), " "
	}
	return d
}

// appendIDs appends runs until dst has n IDs; it truncates the last run.
func (d drawer) appendIDs(dst []int, n int, r *rand.Rand) []int {
	for d.run == 1 && len(dst) < n { // as below, in half the time
		dst = append(dst, d.ids[r.IntN(len(d.ids))])
	}
	for len(dst) < n {
		at := r.IntN(len(d.ids) - d.run + 1)
		dst = append(dst, d.ids[at:at+min(d.run, n-len(dst))]...)
	}
	return dst
}

// text returns text of about total tokens; pr generates the first prefix tokens.
func (d drawer) text(prefix int, pr *rand.Rand, total int, r *rand.Rand) string {
	var b strings.Builder
	d.fill(&b, d.bytes(prefix), pr)
	d.fill(&b, d.bytes(total), r)
	return b.String()
}

// bytes returns the length of text with a number of tokens.
func (d drawer) bytes(tokens int) float64 { return float64(tokens) / d.tokensPerByte }

// estimate returns the approximate number of tokens in a text, at least 1.
func (d drawer) estimate(text string) int {
	return max(int(float64(len(text))*d.tokensPerByte+0.5), 1)
}

// fill appends verses or words until b has about the wanted number of bytes. It cuts the last verse after a
// whole word.
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
