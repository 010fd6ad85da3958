package dataset

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

// Seeds of a draw. Lengths and content are separate, so that repeats can rotate the
// content (and not hit the prefix cache of the repeat before) at equal lengths.
type Seeds struct {
	Lengths, Content uint64
}

// Source makes prompts. The prompt of an index depends on the index, the seeds, the
// dataset and the corpus, and on nothing else: not on earlier calls, nor on the side.
// A Source may be used by several goroutines.
type Source interface {
	Prompt(i int, s Seeds) Prompt
}

// Prompts returns the first n prompts of a source.
func Prompts(src Source, n int, s Seeds) []Prompt {
	out := make([]Prompt, n)
	for i := range out {
		out[i] = src.Prompt(i, s)
	}
	return out
}

// InvalidError says what is wrong with a dataset: its lengths or its file.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "dataset: " + e.Reason }

func invalid(format string, args ...any) error {
	return &InvalidError{Reason: fmt.Sprintf(format, args...)}
}

// New returns the source of a dataset that is made of the embedded text alone; those of
// files come from FromFile. The errors are those of Check, and an *InvalidError for a
// corpus too small to draw from.
func New(d steps.Dataset, c Corpus) (Source, error) {
	if err := Check(d); err != nil {
		return nil, err
	}
	if err := checkCorpus(c); err != nil {
		return nil, err
	}
	m := maker{spec: d, exact: len(c.IDs) > 0, draw: newDrawer(d.Kind, c)}
	switch d.Kind {
	case "random", "sonnet":
		return synthetic{m}, nil
	case "prefix_repetition":
		return newPrefixes(m), nil
	case "chat":
		talk := newConversations(m, c.Chat)
		switch {
		case !RealAnswers(d):
			return talk, nil
		case !c.Chat:
			return nil, invalid("real_answers needs endpoint \"chat\", whose messages can hold them")
		}
		return dialogue{talk}, nil
	case "sharegpt":
		if d.Synthetic {
			return standIn{m}, nil
		}
	}
	return nil, invalid("kind %q needs its file: use FromFile", d.Kind)
}

func checkCorpus(c Corpus) error {
	if len(c.IDs) > 0 && len(c.IDs) < minCorpus {
		return invalid("the server's tokenizer made %d tokens of the embedded text, at least %d are needed", len(c.IDs), minCorpus)
	}
	return nil
}

// RealAnswers says whether conversations go on with what the server answered.
func RealAnswers(d steps.Dataset) bool {
	real, _ := d.Options["real_answers"].(bool)
	return d.Kind == "chat" && real
}

// NeedsFile reports whether prompts of a dataset come from its file.
func NeedsFile(d steps.Dataset) bool {
	switch d.Kind {
	case "sharegpt", "file", "trace":
		return !d.Synthetic
	}
	return false
}

// Absent reports whether the file that prompts should come from is not there.
func Absent(d steps.Dataset) bool { return NeedsFile(d) && d.Sum == "" }

// Rehearsed is a dataset as a simulated run has it: where the file is not there and the
// distribution of its lengths is known, prompts of these lengths are made up.
func Rehearsed(d steps.Dataset) steps.Dataset {
	d.Synthetic = d.Kind == "sharegpt" && Absent(d)
	return d
}

// ShareGPTSource is where the file of kind sharegpt comes from.
const ShareGPTSource = "https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered, file ShareGPT_V3_unfiltered_cleaned_split.json"

// AbsentText says what to do about a file that is not there.
func AbsentText(d steps.Dataset) string {
	text := fmt.Sprintf("the dataset's file %q is not there", d.Path)
	if d.Kind == "sharegpt" {
		text += "; download it from " + ShareGPTSource + ", or rehearse with --simulate, which makes prompts of ShareGPT's lengths up"
	}
	return text
}

// Check says whether prompts of a dataset can be made: an *InvalidError for an unknown
// kind, or for lengths and options that make no sense.
func Check(d steps.Dataset) error {
	if d.PrefixLen < 0 {
		return invalid("prefix length %d is negative", d.PrefixLen)
	}
	switch d.Kind {
	case "random", "sonnet":
		if err := checkSpan("input", d.InputMin, d.InputMax); err != nil {
			return err
		}
		if d.PrefixLen >= d.InputMin {
			return invalid("prefix length %d leaves no token of its own to an input of %d; make it shorter than the shortest input", d.PrefixLen, d.InputMin)
		}
		return checkSpan("output", d.OutputMin, d.OutputMax)
	case "chat":
		if err := checkSpan("input", d.InputMin, d.InputMax); err != nil {
			return err
		}
		return errors.Join(checkSpan("output", d.OutputMin, d.OutputMax), checkOptions(d))
	case "prefix_repetition", "sharegpt", "file", "trace":
		if d.OutputMin != 0 || d.OutputMax != 0 {
			if err := checkSpan("output", d.OutputMin, d.OutputMax); err != nil {
				return err
			}
		}
		return errors.Join(checkPath(d), checkOptions(d))
	}
	return invalid("unknown kind %q", d.Kind)
}

func checkSpan(what string, low, high int) error {
	if low < 1 || high < low {
		return invalid("%s lengths %d..%d: the minimum must be at least 1 and not above the maximum", what, low, high)
	}
	return nil
}

func checkPath(d steps.Dataset) error {
	if NeedsFile(d) && d.Path == "" {
		return invalid("kind %q needs the path of its file", d.Kind)
	}
	return nil
}

// maker is what all sources make prompts with.
type maker struct {
	spec  steps.Dataset
	exact bool // of token ids
	draw  drawer
}

// synthetic makes prompts of the embedded text: kinds random and sonnet.
type synthetic struct{ maker }

// Streams of the generator, so that lengths, content and the shared prefix do not
// depend on how much of another was drawn.
const (
	streamLengths = 0x6c656e6774687300 + iota
	streamContent
	streamPrefix
	streamOrder
	streamBlock
	streamMark
)

// stream returns the generator of one index. PCG is specified bit for bit, so draws
// are stable over versions of Go; the index is mixed in by an odd multiplier.
func stream(seed, name uint64, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, name^(uint64(i)*0x9e3779b97f4a7c15)))
}

func (s synthetic) Prompt(i int, seeds Seeds) Prompt {
	r := stream(seeds.Lengths, streamLengths, i)
	p := Prompt{
		Input:  between(r, s.spec.InputMin, s.spec.InputMax),
		Output: between(r, s.spec.OutputMin, s.spec.OutputMax),
	}
	return s.fill(p, s.spec.PrefixLen, stream(seeds.Content, streamPrefix, 0), stream(seeds.Content, streamContent, i))
}

// between draws uniformly from lo..hi, both included.
func between(r *rand.Rand, lo, hi int) int {
	if hi == lo {
		return lo
	}
	return lo + r.IntN(hi-lo+1)
}
