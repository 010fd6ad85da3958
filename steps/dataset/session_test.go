package dataset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// turnsOf writes what each entry waits for: "1 after 0 +2s, from 0".
func turnsOf(t *dataset.Table) []string {
	var out []string
	for i, e := range t.Entries {
		line := fmt.Sprintf("s%d %d at %v", e.Turn.Session, i, e.At)
		if len(e.Turn.After) > 0 {
			line += fmt.Sprintf(" after %v +%v", e.Turn.After, e.Turn.Wait)
		}
		if e.Turn.From != nil {
			line += fmt.Sprintf(" from %d", *e.Turn.From)
		}
		out = append(out, line)
	}
	return out
}

// otlpSpans is an export of spans "ID PARENT START END INPUT OUTPUT", in seconds; without tokens
// it is no call.
func otlpSpans(trace int, spans ...string) string {
	var list []map[string]any
	for _, text := range spans {
		var id, parent, in, out int
		var start, end float64
		n, err := fmt.Sscan(text, &id, &parent, &start, &end, &in, &out)
		if n < 4 {
			panic(err)
		}
		s := map[string]any{
			"traceId": fmt.Sprintf("%032x", trace), "spanId": fmt.Sprintf("%016x", id), "parentSpanId": "",
			"startTimeUnixNano": fmt.Sprint(int64(1.7e18) + int64(start*1e9)), "endTimeUnixNano": fmt.Sprint(int64(1.7e18) + int64(end*1e9)),
		}
		if parent > 0 {
			s["parentSpanId"] = fmt.Sprintf("%016x", parent)
		}
		if n == 6 {
			s["attributes"] = []any{
				map[string]any{"key": "gen_ai.operation.name", "value": map[string]any{"stringValue": "chat"}},
				map[string]any{"key": "gen_ai.usage.input_tokens", "value": map[string]any{"intValue": fmt.Sprint(in)}},
				map[string]any{"key": "gen_ai.usage.output_tokens", "value": map[string]any{"intValue": out}},
				map[string]any{"key": "gen_ai.conversation.id", "value": map[string]any{"stringValue": "talk"}},
			}
		}
		list = append(list, s)
	}
	b, _ := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{"scopeSpans": []any{map[string]any{"spans": list}}}}})
	return string(b)
}

// TestSessions: each form says what a call waited for, and for how long.
func TestSessions(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"Mooncake, by time": {`{"timestamp":1000,"duration":500,"input_length":600,"output_length":10,"hash_ids":[1,2],"session_id":"a"}
{"timestamp":1100,"duration":100,"input_length":600,"output_length":10,"hash_ids":[7]}
{"timestamp":2500,"duration":1000,"input_length":700,"output_length":10,"hash_ids":[1,3],"session_id":"a"}
{"timestamp":2600,"duration":100,"input_length":700,"output_length":10,"hash_ids":[9,8],"session_id":"a"}
{"timestamp":4000,"input_length":900,"output_length":10,"hash_ids":[1,3,4],"session_id":"a"}`, []string{
			"s0 0 at 0s", "s1 1 at 100ms", "s0 2 at 1.5s after [0] +1s from 0", "s0 3 at 1.6s after [0] +1.1s",
			"s0 4 at 3s after [2 3] +500ms from 2",
		}},
		"Mooncake, delays": {`{"timestamp":0,"input_length":300,"output_length":40,"session_id":"a"}
{"input_length":150,"output_length":20,"session_id":"a","delay":2000}
{"timestamp":1,"input_length":5,"output_length":2,"session_id":"b"}`, []string{
			"s0 0 at 0s", "s1 1 at 1ms", "s0 2 at 2s after [0] +2s from 0",
		}},
		// As aiperf writes them: what a line adds, its hash_ids too.
		"Mooncake, delays and blocks": {`{"timestamp":0,"input_length":600,"output_length":40,"session_id":"a","hash_ids":[1,2]}
{"input_length":150,"output_length":20,"session_id":"a","delay":2000,"hash_ids":[3]}
{"input_length":530,"output_length":20,"session_id":"a","delay":500,"hash_ids":[4,5]}`, []string{
			"s0 0 at 0s", "s0 1 at 2s after [0] +2s from 0", "s0 2 at 2.5s after [1] +500ms from 1",
		}},
		// As Dynamo does: whole prompts.
		"Mooncake, delays and whole prompts": {`{"timestamp":0,"input_length":600,"output_length":40,"session_id":"a","hash_ids":[1,2]}
{"input_length":1150,"output_length":20,"session_id":"a","delay":2000,"hash_ids":[1,2,3]}
{"input_length":530,"output_length":20,"session_id":"a","delay":500,"hash_ids":[1,9]}`, []string{
			"s0 0 at 0s", "s0 1 at 2s after [0] +2s from 0", "s0 2 at 2.5s after [1] +500ms",
		}},
		"Mooncake, parents": {`{"timestamp":0,"duration":10,"input_length":30,"output_length":4,"session_id":"a","id":"x","parents":[]}
{"timestamp":20,"duration":10,"input_length":50,"output_length":4,"session_id":"a","id":"y","parents":["x"]}
{"timestamp":31,"duration":10,"input_length":40,"output_length":4,"session_id":"a","id":"z","parents":["x"]}`, []string{
			"s0 0 at 0s", "s0 1 at 20ms after [0] +10ms from 0", "s0 2 at 31ms after [0] +21ms from 0",
		}},
		"Weka": {`{"id":"x","block_size":64,"requests":[
{"t":0,"type":"n","in":128,"out":10,"hash_ids":[1,2],"api_time":1},
{"t":2,"type":"subagent","requests":[{"t":0,"type":"s","in":64,"out":5,"hash_ids":[9],"api_time":1},{"t":1.5,"type":"n","in":128,"out":5,"hash_ids":[9,10],"api_time":1}]},
{"t":2.5,"type":"subagent","requests":[{"t":0,"type":"n","in":64,"out":5,"hash_ids":[11],"api_time":4}]},
{"t":7,"type":"n","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":1}]}`, []string{
			"s0 0 at 0s", "s0 1 at 2s after [0] +1s", "s0 2 at 2.5s after [0] +1.5s", "s0 3 at 3.5s after [1] +500ms from 1",
			"s0 4 at 7s after [2 3] +500ms from 0",
		}},
		"Weka, absolute times": {`{"id":"x","block_size":64,"requests":[
{"t":1,"type":"n","in":128,"out":10,"hash_ids":[1,2]},
{"t":2,"type":"n","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":1,"think_time":0.75},
{"t":4,"type":"subagent","requests":[{"t":4,"type":"s","in":64,"out":5,"hash_ids":[9],"api_time":1}]}]}`, []string{
			"s0 0 at 0s", "s0 1 at 1s after [0] +750ms from 0", "s0 2 at 3s after [1] +1s",
		}},
		// As published sets have it: seconds rounded down, calls that say no time, and a subagent whose t is its end.
		"Weka, rounded times": {`{"id":"x","block_size":64,"requests":[
{"t":0,"type":"n","in":128,"out":10,"hash_ids":[1,2]},
{"t":9,"type":"n","in":256,"out":10,"hash_ids":[1,2,3,4],"api_time":2.4},
{"t":11,"type":"n","in":320,"out":10,"hash_ids":[1,2,3,4,5],"api_time":3,"think_time":0},
{"t":14.5,"type":"subagent","duration_ms":null,"requests":[{"t":0,"type":"n","in":64,"out":5,"hash_ids":[19],"api_time":8}]},
{"t":20.5,"type":"subagent","duration_ms":6000,"requests":[{"t":0,"type":"n","in":64,"out":5,"hash_ids":[9],"api_time":1}]},
{"t":21,"type":"n","in":384,"out":10,"hash_ids":[1,2,3,4,5,6],"api_time":1,"think_time":7}]}`, []string{
			"s0 0 at 0s", "s0 1 at 9s after [0] +9s from 0", "s0 2 at 11s after [1] +0s from 1", "s0 3 at 14.5s after [2] +500ms",
			"s0 4 at 14.5s after [2] +500ms", "s0 5 at 21s after [4] +5.5s from 2",
		}},
		// An agent (1) with a call, a tool (3) that is an agent with two calls at once, and a call; a
		// second trace of the same conversation, whose outer span is recorded by two libraries.
		"OpenTelemetry": {otlpSpans(1, "4 3 2 3 50 5", "5 3 2.5 4 40 5", "3 1 1.5 4.5", "2 1 0 1 100 10") + "\n" +
			otlpSpans(2, "8 7 10 11 300 10", "7 0 10 12 300 10") + "\n" + otlpSpans(1, "6 1 5 6 200 10", "1 0 0 7"), []string{
			"s0 0 at 0s", "s0 1 at 2s after [0] +1s", "s0 2 at 2.5s after [0] +1.5s", "s0 3 at 5s after [1 2] +1s from 0",
			"s0 4 at 10s after [3] +4s from 3",
		}},
		// The program's own spans: what called it is not there, nor what called what it answered.
		"OpenTelemetry, without the callers": {otlpSpans(1, "1 90 0 7", "2 1 0 1 100 10", "3 1 2 3 200 10", "4 91 0 1"), []string{
			"s0 0 at 0s", "s0 1 at 2s after [0] +1s from 0",
		}},
	} {
		table, err := readKind(t, "trace", strings.NewReader(oneLineEach(tt.text)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := turnsOf(table); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// oneLineEach joins lines that continue an object.
func oneLineEach(text string) string {
	return strings.NewReplacer(",\n", ",", "[\n", "[").Replace(text)
}

// TestSessionsRefused: what is wrong with a session is said with its line.
func TestSessionsRefused(t *testing.T) {
	call := func(at int, more string) string {
		return fmt.Sprintf(`{"timestamp":%d,"duration":5,"input_length":9,"output_length":1,"session_id":"a"%s}`, at, more) + "\n"
	}
	deep := []string{"1 0 0 9"}
	for i := 2; i < 1005; i++ {
		deep = append(deep, fmt.Sprintf("%d %d 0 9", i, i-1))
	}
	deep = append(deep, fmt.Sprintf("9999 %d 0 9 5 5", 1004))
	for name, tt := range map[string]struct{ text, want string }{
		"no form":        {`{"a":1}`, "line 1: no form of a trace that is known; its lines have one of: input_length (Mooncake's"},
		"missing parent": {call(1, `,"id":"x","parents":[]`) + call(9, `,"parents":["y"]`), `line 2: its session has no line with the id "y"`},
		"cycle": {call(1, `,"id":"x","parents":["y"]`) + call(9, `,"id":"y","parents":["x"]`),
			"line 1: its parents wait for it, or for one that does: a cycle"},
		"twice":        {call(1, `,"id":"x"`) + call(9, `,"id":"x"`), `line 2: the id "x" is there twice`},
		"some parents": {call(1, `,"id":"x"`) + call(9, `,"parents":["x"]`), "line 2: lines of its session have parents, and others not"},
		"before parent": {call(1, `,"id":"x","parents":[]`) + call(3, `,"parents":["x"]`),
			"line 2: it begins 3ms before the end of a call that it waits for: times run backwards"},
		"lonely parents": {`{"timestamp":1,"input_length":9,"output_length":1,"parents":[],"id":"x"}` + "\n" + call(0, ""),
			"line 2: its time is before"},
		"no duration": {`{"timestamp":1,"input_length":9,"output_length":1,"session_id":"a"}` + "\n" + call(9, ""),
			"line 1: other lines of its session come after it: give it a duration"},
		"back":           {call(9, "") + call(8, ""), "line 2: its time is before"},
		"negative":       {strings.Replace(call(9, ""), `"duration":5`, `"duration":-5`, 1), "line 1: it took -0.005 s: times run backwards"},
		"negative delay": {call(9, "") + call(10, `,"delay":-1`), "line 2: its delay of -1 ms is negative"},
		"no begin": {`{"input_length":9,"output_length":1,"session_id":"a","delay":3}`,
			"line 1: the first line of a session needs a timestamp"},
		"mixed":      {call(1, "") + call(2, `,"delay":3`) + call(20, ""), "line 3: lines of its session have a delay"},
		"block size": {call(1, `,"block_size":-1`), "line 1: block_size"},
		"weka block": {`{"requests":[]}`, "line 1: block_size = 0"},
		"weka type":  {`{"block_size":1,"requests":[{"t":0,"type":"x"}]}`, `line 1: request 1 has the type "x"`},
		"weka back": {`{"block_size":1,"requests":[{"t":1,"type":"n","in":1,"out":1,"api_time":1},{"t":0,"type":"n","in":1,"out":1}]}`,
			"line 1: request 2 begins at 0 s, before"},
		"weka no time": {`{"block_size":1,"requests":[{"t":1,"type":"n","in":1,"out":1},{"t":2,"type":"n","in":1,"out":1}]}`,
			"line 1: request 1: it has no api_time"},
		"weka nested": {`{"block_size":1,"requests":[{"t":1,"type":"subagent","requests":[{"t":1,"type":"subagent","requests":[{}]}]}]}`,
			"line 1: subagent at request 1: it has subagents of its own"},
		"whole and added": {call(1, `,"hash_ids":[1]`) + call(2, `,"delay":3,"hash_ids":[1,2]`) + call(20, `,"delay":3,"hash_ids":[7]`),
			"line 3: of its session some later lines begin with the first block"},
		"graph": {`{"timestamp":1,"input_length":9,"output_length":1,"request_id":"b","wait_for":["a"]}`,
			"line 1: it has wait_for, of Dynamo's agentic traces"},
		"otlp parent": {otlpSpans(1, "2 1 0 1 5 5", "3 0 2 3 5 5"),
			"line 1: the parent of the span 0000000000000002, 0000000000000001, is not in the file"},
		"otlp cycle": {"\n" + otlpSpans(1, "2 1 0 1 5 5", "1 2 0 1 5 5"), "line 2: the span 0000000000000002 is below itself: a cycle"},
		"otlp twice": {otlpSpans(1, "1 0 0 1 5 5") + "\n" + otlpSpans(1, "1 0 0 1 5 5"),
			"line 2: the span 0000000000000001 is there twice"},
		"otlp back": {otlpSpans(1, "1 0 2 1 5 5"), "times run backwards"},
		"otlp deep": {otlpSpans(1, deep...), "line 1: more than 1000 spans within each other"},
		"otlp no tokens": {strings.ReplaceAll(otlpSpans(1, "1 0 0 1 5 5"), "usage.input_tokens", "x"),
			"line 1: span \"0000000000000001\": it is a call without gen_ai.usage.input_tokens"},
		"otlp wrong id": {strings.Replace(otlpSpans(1, "1 0 0 1 5 5"), `"spanId":"00`, `"spanId":"zz`, 1),
			"its spanId has not 16 hexadecimal digits"},
		"otlp wrong count": {strings.Replace(otlpSpans(1, "1 0 0 1 5 5"), `"intValue":5`, `"intValue":"x"`, 1), "line 1: not an export of spans"},
	} {
		if _, err := readKind(t, "trace", strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), ": line ") {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

// TestManyAtOnce: a crowd that waits for a crowd is refused instead of kept.
func TestManyAtOnce(t *testing.T) {
	var text strings.Builder
	for i := range 2 * 4097 {
		fmt.Fprintf(&text, `{"timestamp":%d,"duration":5,"input_length":9,"output_length":1,"session_id":"a"}`+"\n", i/4097*10)
	}
	if _, err := readKind(t, "trace", strings.NewReader(text.String())); err == nil ||
		!strings.Contains(err.Error(), "line 4098: more than 4096 calls ran side by side before it") {
		t.Errorf("error %v", err)
	}
}

// TestSharedNames: a session whose prompts grow keeps what they have in common once.
func TestSharedNames(t *testing.T) {
	var text strings.Builder
	call := func(at int, names []int64) {
		list, _ := json.Marshal(names)
		fmt.Fprintf(&text, `{"timestamp":%d,"duration":1,"input_length":600000,"output_length":1,"session_id":"a","hash_ids":%s}`+"\n", at, list)
	}
	var names []int64
	for i := range 1000 {
		names = append(names, int64(i))
		call(20*i, names)
		call(20*i+10, names[:i/2+1])
	}
	call(20_000, []int64{0, 5})
	table, err := readKind(t, "trace", strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[*int64]bool{}
	for i, e := range table.Entries[:2000] {
		arrays[&e.Blocks[0]] = true
		if want := names[:[]int{i/2 + 1, i/4 + 1}[i%2]]; !slices.Equal(e.Blocks, want) {
			t.Fatalf("prompt %d: %d names, want %d", i, len(e.Blocks), len(want))
		}
	}
	if other := table.Entries[2000].Blocks; !slices.Equal(other, []int64{0, 5}) {
		t.Errorf("after another: %v", other)
	}
	if len(arrays) > 40 {
		t.Errorf("the names of 2000 prompts are in %d arrays", len(arrays))
	}
}

// TestPromptsOfSessions: without blocks a prompt begins with the prompt and the answer that it
// continues, or with as much of them as the recorded service found in its cache.
func TestPromptsOfSessions(t *testing.T) {
	cached := func(n int, export string) string {
		return strings.Replace(export, `"attributes":[`,
			fmt.Sprintf(`"attributes":[{"key":"gen_ai.usage.cache_read.input_tokens","value":{"intValue":%d}},`, n), 1)
	}
	text := strings.Join([]string{
		otlpSpans(1, "1 0 0 1 100 20"), otlpSpans(2, "1 0 2 3 200 20"), cached(150, otlpSpans(3, "1 0 4 5 300 20")),
		otlpSpans(4, "1 0 6 7 400 20"),
	}, "\n")
	table, err := readKind(t, "trace", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := steps.Dataset{Kind: "trace", Path: "p"}
	src := fromFile(t, d, dataset.Material{Corpus: dataset.Corpus{IDs: ids(5000)}, Table: table}).(dataset.Sessions)
	p := promptsOf(src, 8, dataset.Seeds{1, 1})
	for i, want := range []int{100, 200, 300, 400, 100, 200, 300, 400} {
		if len(p[i].IDs) != want {
			t.Errorf("prompt %d has %d ids, want %d", i, len(p[i].IDs), want)
		}
	}
	for _, tt := range []struct{ a, b, common int }{{0, 1, 100}, {1, 2, 150}, {2, 3, 300}, {0, 3, 100}, {0, 4, 0}, {4, 5, 100}} {
		if got := commonIDs(p[tt.a].IDs, p[tt.b].IDs); got < tt.common || got > tt.common+2 {
			t.Errorf("prompts %d and %d have %d ids in common, want %d", tt.a, tt.b, got, tt.common)
		}
	}
	if after, wait := src.After(6); !slices.Equal(after, []int{5}) || wait != time.Second || src.Session(6) != 1 {
		t.Errorf("request 6 waits for %v and %v, of session %d", after, wait, src.Session(6))
	}

	d.Options = map[string]any{"real_answers": true}
	src = fromFile(t, d, dataset.Material{Corpus: dataset.Corpus{Chat: true}, Table: table}).(dataset.Sessions)
	if got := src.Answers(7); !slices.Equal(got, []int{4, 5, 6}) {
		t.Errorf("request 7 repeats the answers %v", got)
	}
	var messages []struct {
		Role    string
		Content json.RawMessage
	}
	if err := json.Unmarshal(src.Continue(2, dataset.Seeds{1, 1}, []json.RawMessage{[]byte(`"real"`), nil}).Messages, &messages); err != nil {
		t.Fatal(err)
	}
	if len(messages) != 5 || messages[1].Role != "assistant" || string(messages[1].Content) != `"real"` || len(messages[3].Content) < 20 {
		t.Errorf("messages %s", messages)
	}
}

// TestAddedBlocks: where lines name what they add, a prompt is the one before it, its answer, and these blocks, which are those
// of other sessions too.
func TestAddedBlocks(t *testing.T) {
	table, err := readKind(t, "trace", strings.NewReader(
		`{"timestamp":0,"input_length":600,"output_length":40,"session_id":"a","hash_ids":[1,2]}
{"input_length":550,"output_length":20,"session_id":"a","delay":2000,"hash_ids":[3,4]}
{"timestamp":9000,"input_length":1200,"output_length":40,"session_id":"b","hash_ids":[1,3,5]}
{"input_length":30,"output_length":20,"session_id":"b","delay":9}`))
	if err != nil {
		t.Fatal(err)
	}
	src := fromFile(t, steps.Dataset{Kind: "trace", Path: "p"}, dataset.Material{Corpus: dataset.Corpus{IDs: ids(5000)}, Table: table})
	p := promptsOf(src, 4, dataset.Seeds{1, 1})
	for i, want := range []int{600, 1190, 1200, 1270} {
		if p[i].Input != want || len(p[i].IDs) != want {
			t.Errorf("prompt %d has %d ids, want %d", i, len(p[i].IDs), want)
		}
	}
	for _, tt := range []struct {
		what string
		a, b []int
	}{
		{"the prompt before", p[0].IDs, p[1].IDs[:600]},
		{"an added block", p[1].IDs[640:1152], p[2].IDs[512:1024]},
		{"the session's first block", p[0].IDs[:512], p[2].IDs[:512]},
		{"the prompt before a line without names", p[2].IDs, p[3].IDs[:1200]},
	} {
		if !slices.Equal(tt.a, tt.b) {
			t.Errorf("%s is not the same", tt.what)
		}
	}
}

func commonIDs(a, b []int) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
