package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// words is a tokenizer: a word is a token, and every text begins with token 1.
func words(_ context.Context, texts []string) ([][]int, error) {
	out := make([][]int, len(texts))
	for i, text := range texts {
		out[i] = []int{1}
		for w := range strings.FieldsSeq(text) {
			out[i] = append(out[i], 100+len(w))
		}
	}
	return out, nil
}

func material(t *testing.T, d *steps.Dataset, need int) dataset.Material {
	t.Helper()
	files := &dataset.Files{Dir: "testdata"}
	var err error
	if d.Sum, err = files.Sum(d.Path); err != nil {
		t.Fatal(err)
	}
	table, err := files.Table(*d)
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Material{Corpus: dataset.Corpus{IDs: ids(500)}, Table: table, Tokenize: words, Need: need,
		Seeds: dataset.Seeds{Lengths: 3, Content: 1}}
}

// fromTable makes the prompts of a table that was read already.
func fromTable(ctx context.Context, d steps.Dataset, m dataset.Material) (dataset.Source, error) {
	if err := (&dataset.Files{}).Check(d); err != nil {
		return nil, err
	}
	kind, err := dataset.All().Lookup(d.Kind)
	if err != nil {
		return nil, err
	}
	return kind.Source(ctx, d, m)
}

// readKind reads a file of a kind. Its errors leave out the name of the file.
func readKind(tb testing.TB, kind string, r io.Reader) (*dataset.Table, error) {
	tb.Helper()
	const name = "read"
	text, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		tb.Fatal(err)
	}
	table, err := (&dataset.Files{Dir: dir}).Table(steps.Dataset{Kind: kind, Path: name})
	if invalid, ok := errors.AsType[*dataset.InvalidError](err); ok {
		return nil, errors.New(strings.TrimPrefix(invalid.Reason, name+": "))
	}
	return table, err
}

// kept returns how many conversations of a file are asked: their number, since without rotation they come again.
func kept(t *testing.T, d steps.Dataset) int {
	t.Helper()
	d.Options = maps.Clone(d.Options)
	if d.Options == nil {
		d.Options = map[string]any{}
	}
	d.Options["rotate"] = false
	p := promptsOf(fromFile(t, d, material(t, &d, 0)), 200, dataset.Seeds{3, 1})
	for n := 1; n < 100; n++ {
		if slices.EqualFunc(p[:100], p[n:n+100], func(a, b dataset.Prompt) bool { return slices.Equal(a.IDs, b.IDs) }) {
			return n
		}
	}
	return -1
}

func fromFile(t *testing.T, d steps.Dataset, m dataset.Material) dataset.Source {
	t.Helper()
	src, err := fromTable(t.Context(), d, m)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestShareGPTFilter: of the file's 44 conversations the one of a few words, the one too
// long, the one with one turn and the empty one go, as with `vllm bench serve`.
func TestShareGPTFilter(t *testing.T) {
	d := steps.Dataset{Kind: "sharegpt", Path: "sharegpt.json"}
	if got := kept(t, d); got != 40 {
		t.Errorf("%d conversations are kept, want 40", got)
	}
	long := d
	long.Options = map[string]any{"max_input": 5000, "max_total": 9000}
	if got := kept(t, long); got != 41 {
		t.Errorf("with a higher limit %d are kept, want 41", got)
	}
	fixed := d
	fixed.OutputMin, fixed.OutputMax = 5, 5
	if p := fromFile(t, fixed, material(t, &fixed, 0)).Prompt(3, dataset.Seeds{3, 1}); p.Output != 5 {
		t.Errorf("output %d in spite of output_len = 5", p.Output)
	}
	none := d
	none.Options = map[string]any{"max_input": 4, "max_total": 5}
	if _, err := fromTable(t.Context(), none, material(t, &none, 0)); err == nil || !strings.Contains(err.Error(), "raise max_input") {
		t.Errorf("nothing kept: error %v", err)
	}
}

// TestFilePromptsRotate: another content seed and another round of the file change the
// beginning of a prompt and neither its length nor its first token.
func TestFilePromptsRotate(t *testing.T) {
	d := steps.Dataset{Kind: "sharegpt", Path: "sharegpt.json"}
	src := fromFile(t, d, material(t, &d, 10))
	for i := range 10 {
		a, b, again := src.Prompt(i, dataset.Seeds{3, 1}), src.Prompt(i, dataset.Seeds{3, 2}), src.Prompt(i+10, dataset.Seeds{3, 1})
		if len(a.IDs) != a.Input || len(b.IDs) != a.Input || a.Output != b.Output || a.IDs[0] != b.IDs[0] {
			t.Fatalf("prompt %d: %v and %v", i, a, b)
		}
		if slices.Equal(a.IDs[:3], b.IDs[:3]) || slices.Equal(a.IDs[:3], again.IDs[:3]) || !slices.Equal(a.IDs[3:], b.IDs[3:]) {
			t.Errorf("prompt %d does not rotate: %v, %v, %v", i, a.IDs[:5], b.IDs[:5], again.IDs[:5])
		}
	}
	still := d
	still.Options = map[string]any{"rotate": false}
	src = fromFile(t, still, material(t, &still, 10))
	if !slices.Equal(src.Prompt(0, dataset.Seeds{3, 1}).IDs, src.Prompt(0, dataset.Seeds{3, 2}).IDs) {
		t.Error("rotate = false changes prompts")
	}
	verbatim := d
	verbatim.Verbatim = true
	src = fromFile(t, verbatim, material(t, &verbatim, 10))
	first, other, again := src.Prompt(0, dataset.Seeds{3, 2}), src.Prompt(0, dataset.Seeds{3, 1}), src.Prompt(10, dataset.Seeds{3, 2})
	if !slices.Equal(first.IDs, other.IDs) || slices.Equal(first.IDs, again.IDs) {
		t.Error("prompts are changed the first time, or not changed where they come again")
	}
	chat := material(t, &d, 10)
	chat.Corpus = dataset.Corpus{Chat: true}
	src = fromFile(t, d, chat)
	a, b := src.Prompt(0, dataset.Seeds{3, 1}), src.Prompt(0, dataset.Seeds{3, 2})
	if a.Text == b.Text || a.Text[8:] != b.Text[8:] || a.Exact() {
		t.Errorf("texts %q and %q", a.Text, b.Text)
	}
}

func TestFilePrompts(t *testing.T) {
	d := steps.Dataset{Kind: "file", Path: "prompts.jsonl", OutputMin: 9, OutputMax: 9}
	src := fromFile(t, d, material(t, &d, 3))
	got := map[int]int{}
	for i := range 3 {
		p := src.Prompt(i, dataset.Seeds{3, 1})
		if len(p.IDs) != p.Input {
			t.Errorf("prompt %d: %d ids, input %d", i, len(p.IDs), p.Input)
		}
		got[p.Input] = p.Output
	}
	if got[9] != 7 || got[5] != 3 || got[3] != 9 {
		t.Errorf("lengths %v", got)
	}
	d.OutputMin, d.OutputMax = 0, 0
	if _, err := fromTable(t.Context(), d, material(t, &d, 3)); err == nil || !strings.Contains(err.Error(), "line 4: no output_tokens") {
		t.Errorf("no length: error %v", err)
	}
	m := material(t, &d, 3)
	m.Corpus = dataset.Corpus{Chat: true}
	d.OutputMin, d.OutputMax = 1, 1
	if _, err := fromTable(t.Context(), d, m); err == nil || !strings.Contains(err.Error(), "token ids cannot be sent") {
		t.Errorf("ids to chat: error %v", err)
	}
}

func TestMessages(t *testing.T) {
	table, err := readKind(t, "file", strings.NewReader(
		`{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"max_tokens":2}
{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"What?"}]}],"max_tokens":2}`))
	if err != nil {
		t.Fatal(err)
	}
	d := steps.Dataset{Kind: "file", Path: "p"}
	src := fromFile(t, d, dataset.Material{Corpus: dataset.Corpus{Chat: true}, Table: table, Need: 2})
	for i := range 2 {
		a, b := string(src.Prompt(i, dataset.Seeds{1, 1}).Messages), string(src.Prompt(i, dataset.Seeds{1, 2}).Messages)
		if a == b || !strings.Contains(a, "] Be brief.") && !strings.Contains(a, `"text":"[`) {
			t.Errorf("messages %s and %s", a, b)
		}
	}
	if _, err := fromTable(t.Context(), d, dataset.Material{Table: table, Need: 2}); err == nil ||
		!strings.Contains(err.Error(), "need endpoint") {
		t.Errorf("messages to completions: error %v", err)
	}
}

func TestMooncakeTrace(t *testing.T) {
	d := steps.Dataset{Kind: "trace", Path: "mooncake.jsonl", Options: map[string]any{"time_scale": 0.5}}
	src := fromFile(t, d, material(t, &d, 0)).(dataset.Timed)
	if got := src.Times(4); !slices.Equal(got, []time.Duration{0, 0, 750 * time.Millisecond, 1500 * time.Millisecond}) {
		t.Errorf("times %v", got)
	}
	p := promptsOf(src, 4, dataset.Seeds{1, 1})
	for i, want := range []int{1100, 1024, 600, 700} {
		if p[i].Input != want || len(p[i].IDs) != want {
			t.Errorf("prompt %d: %d ids, input %d, want %d", i, len(p[i].IDs), p[i].Input, want)
		}
	}
	if !slices.Equal(p[0].IDs[:1024], p[1].IDs) || !slices.Equal(p[0].IDs[:512], p[2].IDs[:512]) {
		t.Error("blocks of one name differ")
	}
	if slices.Equal(p[0].IDs[512:600], p[2].IDs[512:]) || slices.Equal(p[3].IDs[:64], p[0].IDs[:64]) {
		t.Error("blocks of different names are equal")
	}
	other := promptsOf(src, 1, dataset.Seeds{1, 2})
	if slices.Equal(other[0].IDs, p[0].IDs) {
		t.Error("content does not rotate")
	}
}

// TestSpan: the plan knows how long a trace takes before anything starts.
func TestSpan(t *testing.T) {
	files := &dataset.Files{Dir: "testdata"}
	d := steps.Dataset{Kind: "trace", Path: "mooncake.jsonl", Options: map[string]any{"time_scale": 2}}
	for n, want := range map[int]time.Duration{0: 6 * time.Second, 3: 3 * time.Second, 1: 0} {
		if got, err := files.Span(d, n); got != want || err != nil {
			t.Errorf("first %d requests: %v, %v; want %v", n, got, err, want)
		}
	}
	if _, err := files.Span(d, 5); err == nil || !strings.Contains(err.Error(), "has 4 requests") {
		t.Errorf("more than there are: %v", err)
	}
}

func TestBurstGPTTrace(t *testing.T) {
	d := steps.Dataset{Kind: "trace", Path: "burstgpt.csv"}
	src := fromFile(t, d, material(t, &d, 0)).(dataset.Timed)
	if src.Len() != 4 || src.Times(4)[3] != 180500*time.Millisecond {
		t.Errorf("%d entries, times %v", src.Len(), src.Times(4))
	}
	if p := src.Prompt(1, dataset.Seeds{1, 1}); len(p.IDs) != 1087 || p.Output != 230 {
		t.Errorf("%d ids, output %d", len(p.IDs), p.Output)
	}
}

// TestTimesOfTraces: each form has a unit of its own.
func TestTimesOfTraces(t *testing.T) {
	for name, text := range map[string]string{
		"Azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9500000,600,8\n2023-11-17 00:00:01.2000000,12,3\n",
		"Azure, with the zone": "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,600,8\n2024-05-10 " +
			"00:00:01.25993+00:00,12,3\n",
		"Bailian": `{"chat_id":5,"parent_chat_id":-1,"timestamp":61.25,"input_length":600,"output_length":8,"type":"text","turn":1,"hash_ids":[1,2]}
{"chat_id":6,"parent_chat_id":5,"timestamp":62.5,"input_length":12,"output_length":3,"type":"text","turn":2,"hash_ids":[1]}`,
		"Azure of a spreadsheet": "\xef\xbb\xbf" +
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.95,600,8\n2023-11-17 00:00:01.2,12,3\n",
		"Mooncake before zero": `{"timestamp":-2000,"input_length":600,"output_length":8}
{"timestamp":-750,"input_length":12,"output_length":3}`,
	} {
		table, err := readKind(t, "trace", strings.NewReader(text))
		if err != nil || len(table.Entries) != 2 || table.Sessions != 0 {
			t.Errorf("%s: %+v, %v", name, table, err)
			continue
		}
		a, b := table.Entries[0], table.Entries[1]
		if a.Input != 600 || b.Output != 3 || a.At != 0 || b.At.Round(time.Microsecond) != 1250*time.Millisecond {
			t.Errorf("%s: %+v and %+v", name, a, b)
		}
	}
}

// TestBlocksOfBailian: its blocks have 16 tokens.
func TestBlocksOfBailian(t *testing.T) {
	const line = `{"chat_id":%d,"parent_chat_id":-1,"timestamp":%d,"input_length":64,"output_length":8,` +
		`"type":"text","turn":1,"hash_ids":[%s]}` + "\n"
	table, err := readKind(t, "trace", strings.NewReader(fmt.Sprintf(line, 5, 61, "1,2,3,4")+fmt.Sprintf(line, 6, 62, "1,2,8,9")))
	if err != nil {
		t.Fatal(err)
	}
	src := fromFile(t, steps.Dataset{Kind: "trace", Path: "p"}, dataset.Material{Corpus: dataset.Corpus{IDs: ids(5000)}, Table: table})
	p := promptsOf(src, 2, dataset.Seeds{1, 1})
	if got := commonIDs(p[0].IDs, p[1].IDs); got < 32 || got > 34 {
		t.Errorf("two shared blocks are %d tokens, want 32", got)
	}
}

// TestSizeOfBlocks: a trace with smaller blocks than Mooncake's would be replayed without what its prompts share.
func TestSizeOfBlocks(t *testing.T) {
	table, err := readKind(t, "trace", strings.NewReader(`{"timestamp":0,"input_length":100,"output_length":1,"hash_ids":[1,2,3,4,5,6,7]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := steps.Dataset{Kind: "trace", Path: "t.jsonl"}
	_, err = fromTable(t.Context(), d, dataset.Material{Corpus: dataset.Corpus{IDs: ids(500)}, Table: table})
	if err == nil || !strings.Contains(err.Error(), "3072 tokens with a block_size of 512, and all its prompts 100: give block_size") {
		t.Error(err)
	}
	d.Options = map[string]any{"block_size": 16}
	fromFile(t, d, dataset.Material{Corpus: dataset.Corpus{IDs: ids(500)}, Table: table})
}

func TestReadRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ kind, text, want string }{
		"sharegpt lines":   {"sharegpt", `{"conversations":[]}`, "not a list"},
		"sharegpt cut":     {"sharegpt", `[{"conversations":[{"value":"a"},{"value":"b"}]}`, "does not end"},
		"sharegpt wrong":   {"sharegpt", `[{"conversations":[]},3]`, "conversation 2"},
		"sharegpt empty":   {"sharegpt", `[]`, "no usable entry"},
		"file not JSON":    {"file", "\nhello", "line 2: not a JSON object"},
		"file two prompts": {"file", `{"prompt":"a","messages":[{"role":"user","content":"b"}]}`, "exactly one"},
		"file no prompt":   {"file", `{"text":"a"}`, "exactly one"},
		"file bad prompt":  {"file", `{"prompt":{"a":1}}`, "text or a list of token ids"},
		"file negative id": {"file", `{"prompt":[-1]}`, "negative"},
		"file no tokens":   {"file", `{"prompt":"a","output_tokens":0}`, "at least 1"},
		"file no role":     {"file", `{"messages":[{"content":"b"}]}`, "no role"},
		"trace empty":      {"trace", " \n", "empty"},
		"trace member":     {"trace", `{"timestamp":1,"input_length":3}`, "needs timestamp"},
		"trace back in time": {"trace", `{"timestamp":2,"input_length":3,"output_length":1}` + "\n" +
			`{"timestamp":1,"input_length":3,"output_length":1}`, "line 2: its time is before"},
		"trace no length": {"trace", `{"timestamp":2,"input_length":0,"output_length":1}`, "at least 1"},
		"trace far":       {"trace", `{"timestamp":1e300,"input_length":1,"output_length":1}`, "out of range"},
		"csv column": {"trace", "Timestamp,Request tokens\n1,2\n",
			"Timestamp, Request tokens, Response tokens; or TIMESTAMP, ContextTokens, GeneratedTokens"},
		"csv date":     {"trace", "TIMESTAMP,ContextTokens,GeneratedTokens\n16.11.2023,2,3\n", "line 2"},
		"csv number":   {"trace", "Timestamp,Request tokens,Response tokens\nx,2,3\n", "line 2"},
		"another kind": {"random", "", "not read from a file"},
	} {
		if _, err := readKind(t, tt.kind, strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

// TestFilesStayInTheirFolders: a pipeline file cannot name any file of the machine.
func TestFilesStayInTheirFolders(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.jsonl")
	write := func(path string) {
		if err := os.WriteFile(path, []byte(`{"prompt":"a","output_tokens":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secret)
	write(filepath.Join(dir, "own.jsonl"))
	if err := os.Symlink(secret, filepath.Join(dir, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	files := &dataset.Files{Dir: dir}
	for _, path := range []string{secret, up, "link.jsonl", "."} {
		if _, err := files.Sum(path); err == nil {
			t.Errorf("%s was read", path)
		}
	}
	if _, err := files.Sum("none.jsonl"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	allowed := &dataset.Files{Dir: dir, Dirs: dataset.Dirs("relative" + string(os.PathListSeparator) + outside)}
	sum, err := allowed.Sum(secret)
	if err != nil || len(sum) != 64 {
		t.Errorf("a folder that the machine's owner names: %q, %v", sum, err)
	}
	if _, err := allowed.Sum(filepath.Join(outside, "..", "x")); err == nil {
		t.Error("a path that leaves the folder was read")
	}
	d := steps.Dataset{Kind: "file", Path: "own.jsonl", Sum: sum}
	if _, err := files.Table(d); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "own.jsonl"), []byte(`{"prompt":"b","output_tokens":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&dataset.Files{Dir: dir}).Table(d); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("another content: error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"sharegpt.json", "prompts.jsonl", "mooncake.jsonl", "burstgpt.csv", "sessions.jsonl",
		"weka.jsonl", "otlp.jsonl"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, kind := range []string{"sharegpt", "file", "trace"} {
			table, err := readKind(t, kind, bytes.NewReader(text))
			if err != nil {
				continue
			}
			for i, e := range table.Entries {
				if e.Turn != nil && slices.ContainsFunc(e.Turn.After, func(p int) bool { return p < 0 || p >= i }) || e.Turn != nil && e.Turn.Wait < 0 {
					t.Errorf("%s, entry %d: %+v", kind, i, e.Turn)
				}
				if e.Output < 0 || e.Input < 0 || e.At < 0 || (kind == "trace" && (e.Input == 0 || e.Output == 0)) ||
					(kind != "trace" && e.Text == "" && e.Messages == nil && e.IDs == nil) {
					t.Errorf("%s, entry %d: %+v", kind, i, e)
				}
			}
			d := steps.Dataset{Kind: kind, Path: "p", OutputMin: 1, OutputMax: 1}
			src, err := fromTable(t.Context(), d, dataset.Material{Corpus: dataset.Corpus{Chat: true}, Table: table, Tokenize: words})
			if err == nil {
				_ = promptsOf(src, min(len(table.Entries), 10), dataset.Seeds{1, 1})
			}
		}
	})
}
