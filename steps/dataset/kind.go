package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// Kind is one kind of dataset: its block in a pipeline file, and the code that makes its prompts. To add one,
// write a value of this type and list it in [All].
//
//  1. When a file is loaded, Attrs decode, check and document the block. Lengths, prefix_len and
//     path become fields of [steps.Dataset]; all other arguments become its Options.
//  2. When a plan is made, Check rejects invalid combinations. In a rehearsal, StandIn replaces a
//     missing file.
//  3. When a run begins, Read reads the file, once for all runs, and Source makes the prompts.
type Kind struct {
	// Name is the label of the block.
	Name string
	Doc  string
	// Attrs are the arguments of the block.
	Attrs []steps.Attr
	// Check, if not nil, returns an error for lengths that no prompt can have.
	Check func(steps.Dataset) error
	// Read reads the dataset's file; nil if prompts come from the embedded text alone.
	Read func(io.Reader) (*Table, error)
	// Source returns the prompts. The table in m is the result of Read.
	Source func(context.Context, steps.Dataset, Material) (Source, error)
	// StandIn makes prompts for a rehearsal whose file is missing; nil if impossible.
	StandIn func(steps.Dataset, Material) Source
	// Origin is the place to download the file from, for messages; "" for a user's own file.
	Origin string
	// Repeated returns the largest share of prompt tokens that an initially empty prefix cache can hit, because
	// the prompts repeat each other; nil if unknown.
	Repeated func(steps.Dataset) float64
	// OwnLengths means that the file contains the lengths of answers.
	OwnLengths bool
}

// Kinds lists kinds of datasets, in the order of the documentation.
type Kinds []Kind

// All returns the kinds of this program.
func All() Kinds {
	return Kinds{
		{
			Name: "random", Doc: "Prompts of exact token lengths whose tokens are drawn from an embedded text, in no order.",
			Attrs: []steps.Attr{inputLen, outputLen, prefixLen}, Check: checkFixed, Source: drawn(false), Repeated: repeatedPrefix,
		},
		{
			Name: "sonnet", Doc: "Prompts of lines of Shakespeare's sonnets, like the sonnet dataset that vLLM had.",
			Attrs: []steps.Attr{inputLen, outputLen, prefixLen}, Check: checkFixed, Source: drawn(true),
		},
		{
			Name: "prefix_repetition",
			Doc:  "Prompts that share one of several prefixes, to measure prefix caches: every prefix equally often, in a drawn order.",
			Attrs: []steps.Attr{
				numPrefixes, withDoc(prefixLen, "Tokens of each shared prefix; 256 unless set."), suffixLen,
				withDoc(outputLen, "Tokens to generate, a number or { min = 16, max = 128 }; 128 unless set."),
			},
			Check: checkOutput, Source: prefixed, Repeated: repeatedPrefixes,
		},
		{
			Name: "chat", Doc: "Turns of made-up conversations, each request with all that was said before it.",
			Attrs: []steps.Attr{
				withDoc(inputLen, "Tokens of each message of the user: a number, or { min = 16, max = 128 } for uniform lengths."),
				withDoc(outputLen, "Tokens of each answer: a number, or { min = 16, max = 128 } for uniform lengths."), turns, users,
				systemLen, realAnswers,
			},
			Check: checkSpans, Source: newConversations,
		},
		{
			Name: "rerank", Doc: "Made-up queries, each with documents that are to be ranked by it: for endpoint = \"rerank\".",
			Attrs: []steps.Attr{withDoc(inputLen, "Tokens of a document: a number, or { min = 128, max = 1024 } for uniform lengths."),
				queryLen, documents},
			Check: checkInput, Source: ask,
		},
		{
			Name: "multimodal", Doc: "Made-up texts, each with pictures (JPEG) and sounds (WAV) of noise: for endpoint = \"chat\".",
			Attrs: []steps.Attr{withDoc(inputLen, "Tokens of the text: a number, or { min = 128, max = 1024 } for uniform lengths."), outputLen,
				images, imageWidth, imageHeight, sounds, soundSeconds},
			Check: checkMultimodal, Source: show,
		},
		{
			Name: "sharegpt", Doc: "Conversations of a ShareGPT file: the first turn is the prompt, the length of the second that of the answer, " +
				"filtered as `vllm bench serve` does.",
			Attrs: []steps.Attr{path, withDoc(outputLen, "Tokens to generate instead of the recorded answer's length."), seed,
				maxInput, maxTotal, rotate},
			Check: checkOutput, Read: readShareGPT, Source: choose(true), StandIn: newStandIn, OwnLengths: true,
			Origin: "https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered, file ShareGPT_V3_unfiltered_cleaned_split.json",
		},
		{
			Name: "file", Doc: "Prompts of a file with one JSON object a line: prompt (text or token ids), messages, or a query with its " +
				"documents, and output_tokens if it is to differ from output_len.",
			Attrs: []steps.Attr{path, withDoc(outputLen, "Tokens to generate for lines without output_tokens."), seed, rotate},
			Check: checkOutput, Read: readPrompts, Source: choose(false),
		},
		{
			Name: "trace",
			Doc: "Requests of a recorded trace with their times and lengths: Mooncake's form (JSON lines: timestamp in ms, input_length, " +
				"output_length, hash_ids), Bailian's, or the CSVs of BurstGPT and Azure; or sessions of agents: Mooncake's form with session_id, " +
				"that of Weka and AgentX, or OpenTelemetry's spans of calls (OTLP in JSON lines). The times are those of a load with arrival = " +
				"\"trace\". In a session a request waits for those that it came after in the recording, and then as long as it did there; arrival = " +
				"\"closed\" has max_concurrency sessions go on at once.",
			Attrs: []steps.Attr{path, withDoc(outputLen, "Tokens to generate instead of the recorded length."), timeScale, blockSize,
				withDoc(realAnswers, "Put what the server answered into the turns of a session that follow, instead of made-up answers of the "+
					"recorded lengths. Needs endpoint = \"chat\". false unless set.")},
			Check: checkOutput, Read: readTrace, Source: newTrace, OwnLengths: true,
		},
	}
}

// Names lists the kinds.
func (k Kinds) Names() []string {
	names := make([]string, len(k))
	for i := range k {
		names[i] = k[i].Name
	}
	return names
}

// Blocks describes the blocks of all kinds. No length is required here, because the benchmark can set lengths
// too.
func (k Kinds) Blocks() []steps.Kind {
	blocks := make([]steps.Kind, len(k))
	for i, kind := range k {
		blocks[i] = steps.Kind{Block: "dataset", Name: kind.Name, Doc: kind.Doc, Schema: steps.Schema{Attrs: kind.Attrs}, Validate: validate}
	}
	return blocks
}

// Lookup returns the kind of a dataset.
func (k Kinds) Lookup(name string) (Kind, error) {
	i := slices.IndexFunc(k, func(kind Kind) bool { return kind.Name == name })
	if i < 0 {
		return Kind{}, invalid("unknown kind %q", name)
	}
	return k[i], nil
}

// Has reports whether blocks of the kind have an argument.
func (k Kind) Has(argument string) bool {
	return slices.ContainsFunc(k.Attrs, func(a steps.Attr) bool { return a.Name == argument })
}

// check returns an *InvalidError for invalid lengths and options.
func (k Kind) check(d steps.Dataset) error {
	switch {
	case d.PrefixLen < 0:
		return invalid("prefix length %d is negative", d.PrefixLen)
	case k.Read != nil && d.Path == "" && !d.Synthetic:
		return invalid("kind %q needs the path of its file", d.Kind)
	case k.Check != nil:
		return errors.Join(k.Check(d), checkOptions(d))
	}
	return checkOptions(d)
}

// checkFixed checks the lengths of prompts with a prefix.
func checkFixed(d steps.Dataset) error {
	if d.InputMin > 0 && d.PrefixLen >= d.InputMin {
		return invalid("prefix length %d leaves no token of its own to an input of %d; make it shorter than the shortest input",
			d.PrefixLen, d.InputMin)
	}
	return checkSpans(d)
}

// checkSpans checks both lengths, which must be set.
func checkSpans(d steps.Dataset) error {
	return cmp.Or(checkSpan("input", d.InputMin, d.InputMax), checkSpan("output", d.OutputMin, d.OutputMax))
}

// checkOutput checks the length of answers if it is set.
func checkOutput(d steps.Dataset) error {
	if d.OutputMin == 0 && d.OutputMax == 0 {
		return nil
	}
	return checkSpan("output", d.OutputMin, d.OutputMax)
}

func checkSpan(what string, low, high int) error {
	if low < 1 || high < low {
		return invalid("%s lengths %d..%d: the minimum must be at least 1 and not above the maximum", what, low, high)
	}
	return nil
}

// Repeated returns the largest share of prompt tokens that a prefix cache, cleared before the run, can hit
// because prompts repeat each other. ok is false if unknown.
func Repeated(d steps.Dataset) (share float64, ok bool) {
	kind, err := All().Lookup(d.Kind)
	if err != nil || kind.Repeated == nil {
		return 0, false
	}
	share = kind.Repeated(d)
	return share, share >= 0 && share <= 1
}

// repeatedPrefix returns the share of the prefix that all prompts have in common.
func repeatedPrefix(d steps.Dataset) float64 {
	return 2 * float64(d.PrefixLen) / float64(d.InputMin+d.InputMax)
}

// NeedsFile reports whether a dataset's prompts come from its file.
func NeedsFile(d steps.Dataset) bool { return d.Path != "" && !d.Synthetic }

// Absent reports whether the needed file of a dataset is missing.
func Absent(d steps.Dataset) bool { return NeedsFile(d) && d.Sum == "" }

// RealAnswers reports whether conversations contain the server's answers.
func RealAnswers(d steps.Dataset) bool {
	wanted, _ := d.Options[realAnswers.Name].(bool)
	return wanted
}

// Check returns an *InvalidError for a dataset of unknown kind, or with invalid lengths or options.
func (f *Files) Check(d steps.Dataset) error {
	kind, err := f.kinds().Lookup(d.Kind)
	if err != nil {
		return err
	}
	return kind.check(d)
}

// CheckEndpoint returns an error if an endpoint cannot take the prompts of a dataset. Only rerank takes
// documents, and it needs them; only chat takes messages with media.
func CheckEndpoint(d steps.Dataset, endpoint string) error {
	switch ranks := endpoint == "rerank"; {
	case ranks && d.Kind != "rerank" && d.Kind != "file":
		return fmt.Errorf("endpoint %q ranks documents, and a dataset of kind %q has none; use dataset \"rerank\", "+
			"or \"file\" with lines of query and documents", endpoint, d.Kind)
	case d.Kind == "multimodal" && endpoint != "chat":
		return fmt.Errorf("a dataset of kind %q holds pictures or sound, which are parts of messages; send them to endpoint = \"chat\"", d.Kind)
	case !ranks && d.Kind == "rerank":
		return fmt.Errorf("a dataset of kind %q holds queries with their documents; send them to endpoint = \"rerank\"", d.Kind)
	}
	return nil
}

// Rehearsed returns the dataset for a simulated run. If the file is missing and the distribution of its lengths
// is known, prompts of these lengths are made up.
func (f *Files) Rehearsed(d steps.Dataset) steps.Dataset {
	kind, err := f.kinds().Lookup(d.Kind)
	d.Synthetic = err == nil && kind.StandIn != nil && Absent(d)
	return d
}

// AbsentText describes a missing file and what to do about it.
func (f *Files) AbsentText(d steps.Dataset) string {
	text := fmt.Sprintf("the dataset's file %q is not there", d.Path)
	if f != nil && !filepath.IsAbs(d.Path) {
		text += ", relative to the folder of the pipeline file"
		if folder := filepath.Clean(f.Dir); folder != "." {
			text += fmt.Sprintf(" (%s)", folder)
		}
	}
	kind, err := f.kinds().Lookup(d.Kind)
	if err == nil && kind.Origin != "" {
		text += "; download it from " + kind.Origin
	}
	if err == nil && kind.StandIn != nil {
		text += ", or rehearse with --simulate, which makes up prompts of such lengths"
	}
	return text
}

// Source returns the prompts of a dataset; for a trace, a [Timed]. It reads the table of m. Its errors are
// those of Check, and an *InvalidError for a corpus that is too small or an unusable file.
func (f *Files) Source(ctx context.Context, d steps.Dataset, m Material) (Source, error) {
	kind, err := f.kinds().Lookup(d.Kind)
	if err == nil {
		err = kind.check(d)
	}
	if err == nil {
		err = checkCorpus(m.Corpus)
	}
	if err != nil {
		return nil, err
	}
	if d.Synthetic {
		return kind.StandIn(d, m), nil
	}
	if kind.Read != nil {
		if m.Table, err = f.Table(d); err != nil {
			return nil, err
		}
	}
	return kind.Source(ctx, d, m)
}
