package dataset_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/maphash"
	"os"
	"os/exec"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

var (
	published = flag.String("published", "", "a `trace` to read; python3 counts it, too")
	block     = flag.Int("block", 512, "`tokens` of the blocks of -published")
)

// TestPublished reads a trace that someone published and makes all its prompts: requests, tokens, and what a prefix cache that keeps
// everything finds of them are what a script says that knows nothing of this package.
func TestPublished(t *testing.T) {
	if *published == "" {
		t.Skip("-published=FILE -block=TOKENS reads a trace that is not in the repository")
	}
	want, err := exec.CommandContext(t.Context(), "python3", "testdata/published.py", *published, fmt.Sprint(*block)).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(*published)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	table, err := readKind(t, "trace", f)
	if err != nil {
		t.Fatal(err)
	}
	src := fromFile(t, steps.Dataset{Kind: "trace", Path: "p"}, dataset.Material{Corpus: dataset.Corpus{IDs: ids(50000)}, Table: table})
	seed, known := maphash.MakeSeed(), map[uint64]bool{}
	inputs, outputs, found := 0, 0, 0
	for i := range table.Entries {
		p := src.Prompt(i, dataset.Seeds{1, 1})
		inputs, outputs = inputs+len(p.IDs), outputs+p.Output
		name, hit := uint64(0), true
		for k := 0; k+*block <= len(p.IDs); k += *block {
			text := binary.LittleEndian.AppendUint64(nil, name)
			for _, id := range p.IDs[k : k+*block] {
				text = binary.LittleEndian.AppendUint32(text, uint32(id))
			}
			name = maphash.Bytes(seed, text)
			if hit = hit && known[name]; hit {
				found += *block
			}
			known[name] = true
		}
	}
	got := fmt.Sprintf("%d requests, %d tokens of prompts, %d of them found (%.2f%%), %d of answers\n",
		len(table.Entries), inputs, found, 100*float64(found)/float64(inputs), outputs)
	t.Logf("%d sessions, %s", table.Sessions, got)
	if got != string(want) {
		t.Errorf("the script counts %s", want)
	}
}
