package dataset_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"pgregory.net/rapid"
)

// ids stands for a tokenizer's answer: distinct, so that a slice can be found again.
func ids(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1000 + i
	}
	return out
}

func spec(kind string) steps.Dataset {
	return steps.Dataset{Kind: kind, InputMin: 20, InputMax: 60, OutputMin: 1, OutputMax: 9, PrefixLen: 12}
}

func source(t interface{ Fatal(...any) }, d steps.Dataset, c dataset.Corpus) dataset.Source {
	src, err := synthesize(d, c)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestPromptsHaveTheLengthsAndThePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := steps.Dataset{Kind: rapid.SampledFrom([]string{"random", "sonnet"}).Draw(t, "kind")}
		d.InputMin = rapid.IntRange(1, 300).Draw(t, "min")
		d.InputMax = d.InputMin + rapid.IntRange(0, 300).Draw(t, "more")
		d.OutputMin, d.OutputMax = 1, rapid.IntRange(1, 50).Draw(t, "out")
		d.PrefixLen = rapid.IntRange(0, d.InputMin-1).Draw(t, "prefix")
		src := source(t, d, dataset.Corpus{IDs: ids(5000)})
		seeds := dataset.Seeds{rapid.Uint64().Draw(t, "lengths"), rapid.Uint64().Draw(t, "content")}
		first := src.Prompt(0, seeds).IDs[:d.PrefixLen]
		for i := range 5 {
			p := src.Prompt(i, seeds)
			if len(p.IDs) != p.Input || !p.Exact() || p.Input < d.InputMin || p.Input > d.InputMax || p.Output < d.OutputMin ||
				p.Output > d.OutputMax {
				t.Fatalf("prompt %d: %d ids, input %d, output %d for %+v", i, len(p.IDs), p.Input, p.Output, d)
			}
			if !slices.Equal(p.IDs[:d.PrefixLen], first) {
				t.Fatalf("prompt %d does not share the prefix", i)
			}
		}
	})
}

func TestSeeds(t *testing.T) {
	for _, kind := range []string{"random", "sonnet"} {
		for name, c := range map[string]dataset.Corpus{"ids": {IDs: ids(5000)}, "text": {}} {
			src := source(t, spec(kind), c)
			a := promptsOf(src, 20, dataset.Seeds{Lengths: 1, Content: 2})
			if hashOf(a) != hashOf(promptsOf(source(t, spec(kind), c), 20, dataset.Seeds{Lengths: 1, Content: 2})) {
				t.Errorf("%s, %s: the same seeds gave other prompts", kind, name)
			}
			rotated := promptsOf(src, 20, dataset.Seeds{Lengths: 1, Content: 3})
			for i := range a {
				if a[i].Input != rotated[i].Input || a[i].Output != rotated[i].Output {
					t.Errorf("%s, %s: lengths changed with the content's seed", kind, name)
				}
				if slices.Equal(a[i].IDs, rotated[i].IDs) && a[i].Text == rotated[i].Text {
					t.Errorf("%s, %s: content did not rotate", kind, name)
				}
			}
			other := promptsOf(src, 20, dataset.Seeds{Lengths: 9, Content: 2})
			if slices.EqualFunc(a, other, func(x, y dataset.Prompt) bool { return x.Input == y.Input && x.Output == y.Output }) {
				t.Errorf("%s, %s: lengths did not change with their seed", kind, name)
			}
		}
	}
}

// TestPromptsShareNothingElse: behind the prefix two prompts must not begin alike, or a
// prefix cache would hit.
func TestPromptsShareNothingElse(t *testing.T) {
	for _, kind := range []string{"random", "sonnet"} {
		src := source(t, spec(kind), dataset.Corpus{IDs: ids(5000)})
		same := 0
		for i := range 200 {
			a, b := src.Prompt(i, dataset.Seeds{1, 1}).IDs, src.Prompt(i+1, dataset.Seeds{1, 1}).IDs
			if slices.Equal(a[12:20], b[12:20]) {
				same++
			}
		}
		if same > 3 {
			t.Errorf("%s: %d of 200 neighbours begin alike", kind, same)
		}
	}
}

func TestSonnetKeepsRunsOfText(t *testing.T) {
	src := source(t, steps.Dataset{Kind: "sonnet", InputMin: 200, InputMax: 200, OutputMin: 1, OutputMax: 1}, dataset.Corpus{IDs: ids(5000)})
	p := src.Prompt(0, dataset.Seeds{1, 1}).IDs
	consecutive := 0
	for i := 1; i < len(p); i++ {
		if p[i] == p[i-1]+1 {
			consecutive++
		}
	}
	if consecutive < 150 {
		t.Errorf("%d of 199 ids follow their neighbour; lines of about %d are wanted", consecutive, 5000/462)
	}
}

func TestTextIsOfAboutTheLength(t *testing.T) {
	d := steps.Dataset{Kind: "sonnet", InputMin: 500, InputMax: 500, OutputMin: 1, OutputMax: 1, PrefixLen: 100}
	src := source(t, d, dataset.TextCorpus(ids(6000)))
	perByte := 6000 / float64(len(dataset.Text()))
	a, b := src.Prompt(0, dataset.Seeds{1, 1}), src.Prompt(1, dataset.Seeds{1, 1})
	if a.Exact() || a.IDs != nil {
		t.Error("a text prompt claims exact ids")
	}
	for _, p := range []dataset.Prompt{a, b} {
		if got := float64(len(p.Text)) * perByte; got < 495 || got > 510 {
			t.Errorf("about %.0f tokens of text, want 500", got)
		}
	}
	prefix := int(95 / perByte)
	if a.Text[:prefix] != b.Text[:prefix] {
		t.Error("the texts do not share their prefix")
	}
	if a.Text == b.Text {
		t.Error("the texts are equal")
	}
}

func TestNewRefuses(t *testing.T) {
	base := spec("random")
	change := func(f func(*steps.Dataset)) steps.Dataset { d := base; f(&d); return d }
	var invalid *dataset.InvalidError
	for name, d := range map[string]steps.Dataset{
		"unknown kind":    spec("randm"),
		"no path":         spec("sharegpt"),
		"from a file":     {Kind: "trace", Path: "t.jsonl"},
		"no prefixes":     {Kind: "prefix_repetition", Options: map[string]any{"num_prefixes": 0}},
		"no turns":        {Kind: "chat", InputMin: 1, InputMax: 1, OutputMin: 1, OutputMax: 1, Options: map[string]any{"turns": 1.5}},
		"chat of nothing": {Kind: "chat"},
		"no input":        change(func(d *steps.Dataset) { d.InputMin = 0 }),
		"inverted":        change(func(d *steps.Dataset) { d.InputMax = d.InputMin - 1 }),
		"no output":       change(func(d *steps.Dataset) { d.OutputMin = 0 }),
		"long prefix":     change(func(d *steps.Dataset) { d.PrefixLen = d.InputMin }),
		"negative prefix": change(func(d *steps.Dataset) { d.PrefixLen = -1 }),
	} {
		if _, err := synthesize(d, dataset.Corpus{IDs: ids(5000)}); !errors.As(err, &invalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := synthesize(base, dataset.Corpus{IDs: ids(10)}); !errors.As(err, &invalid) {
		t.Errorf("tiny corpus: error %v", err)
	}
}

func TestHashTellsPromptsApart(t *testing.T) {
	prompts := [][]dataset.Prompt{
		nil,
		{{Input: 1, Output: 2}},
		{{Input: 2, Output: 1}},
		{{IDs: []int{1}, Input: 1, Output: 2}},
		{{IDs: []int{2}, Input: 1, Output: 2}},
		{{Text: "a", Input: 1, Output: 2}},
		{{IDs: []int{1}}, {IDs: []int{2}}},
		{{IDs: []int{1, 2}}, {}},
	}
	seen := map[string]int{}
	for i, p := range prompts {
		if j, dup := seen[hashOf(p)]; dup {
			t.Errorf("prompts %d and %d have one hash", i, j)
		}
		seen[hashOf(p)] = i
	}
}

// TestSum checks that the sum of a prompt is the FNV-1a hash of its numbers, of eight bytes each, and its text.
func TestSum(t *testing.T) {
	p := dataset.Prompt{IDs: []int{0, 255, 256, 1 << 24, 0xff00ff00, 1<<63 - 1}, Text: "nine byte", Documents: []string{"", "\x00\x00"}}
	want := fnv.New32a()
	for _, part := range []any{uint64(6), []uint64{0, 255, 256, 1 << 24, 0xff00ff00, 1<<63 - 1}, uint64(9),
		[]byte("nine byte"), uint64(0), uint64(2), []byte{0, 0}} {
		if err := binary.Write(want, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	if got := sumOf(p); got != want.Sum32() {
		t.Errorf("%x, want %x", got, want.Sum32())
	}
}

func BenchmarkPrompt(b *testing.B) {
	for _, kind := range []string{"sonnet", "random"} {
		b.Run(kind, func(b *testing.B) {
			src := source(b, steps.Dataset{Kind: kind, InputMin: 1024, InputMax: 1024, OutputMin: 128, OutputMax: 128, PrefixLen: 50},
				dataset.Corpus{IDs: ids(6000)})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = src.Prompt(i, dataset.Seeds{1, 1})
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	p := dataset.Prompt{IDs: ids(1024), Input: 1024, Output: 128}
	for b.Loop() {
		dataset.Hash(1, func(int) dataset.Prompt { return p })
	}
}

// synthesize makes the prompts of a dataset without a file.
func synthesize(d steps.Dataset, c dataset.Corpus) (dataset.Source, error) {
	return (*dataset.Files)(nil).Source(context.Background(), d, dataset.Material{Corpus: c})
}

// promptsOf returns the first n prompts of a source.
func promptsOf(src dataset.Source, n int, s dataset.Seeds) []dataset.Prompt {
	out := make([]dataset.Prompt, n)
	for i := range out {
		out[i] = src.Prompt(i, s)
	}
	return out
}

// sumOf returns the hash of the content of a prompt.
func sumOf(p dataset.Prompt) uint32 {
	_, sums := dataset.Hash(1, func(int) dataset.Prompt { return p })
	return sums[0]
}

// hashOf returns the hash of prompts, and checks the sum of each.
func hashOf(prompts []dataset.Prompt) string {
	hash, sums := dataset.Hash(len(prompts), func(i int) dataset.Prompt { return prompts[i] })
	for i, p := range prompts {
		if sums[i] != sumOf(p) {
			panic("the sum of a prompt depends on those before it")
		}
	}
	return hash
}
