package dataset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// saying adds the messages of a prompt to an export of one call, a text each.
func saying(t *testing.T, export string, attrs ...string) string {
	t.Helper()
	var all []string
	for _, a := range attrs {
		key, texts, _ := strings.Cut(a, "=")
		var messages []map[string]any
		for text := range strings.SplitSeq(texts, "|") {
			messages = append(messages, map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": text}}})
		}
		list, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(map[string]string{"stringValue": string(list)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf(`{"key":%q,"value":%s},`, key, value))
	}
	return strings.Replace(export, `"attributes":[`, `"attributes":[`+strings.Join(all, ""), 1)
}

// TestPromptsOfMessages: prompts of calls that record their messages begin alike as far as their messages do, over
// sessions too, with the tokens that the first of them counted.
func TestPromptsOfMessages(t *testing.T) {
	const messages, system = "gen_ai.input.messages=", "gen_ai.system_instructions="
	rules, long := system+strings.Repeat("rule ", 200), strings.Repeat("question ", 100)
	text := strings.Join([]string{
		saying(t, otlpSpans(1, "1 0 0 1 500 20"), rules, messages+"hello"),
		saying(t, otlpSpans(2, "1 0 2 3 900 20"), rules, messages+"hello|hi|"+long),                                   // goes on
		saying(t, otlpSpans(3, "1 0 4 5 700 20"), rules, messages+"hello|hi|other"),                                   // parts from the second
		saying(t, otlpSpans(4, "1 0 6 7 400 20"), system+"other", messages+"hello"),                                   // has nothing in common
		strings.ReplaceAll(saying(t, otlpSpans(5, "1 0 0.5 7 500 20"), rules, messages+"x"), `"talk"`, `"elsewhere"`), // of another session
	}, "\n")
	table, err := readKind(t, "trace", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int
	for _, e := range table.Entries {
		lengths = append(lengths, e.Input)
	}
	if want := []int{500, 500, 900, 700, 400}; !slices.Equal(lengths, want) {
		t.Fatalf("prompts of %v tokens, want %v", lengths, want)
	}
	m := dataset.Material{Corpus: dataset.Corpus{IDs: ids(5000)}, Table: table}
	src := fromFile(t, steps.Dataset{Kind: "trace", Path: "p"}, m).(dataset.Sessions)
	p := promptsOf(src, 5, dataset.Seeds{1, 1})
	for _, tt := range []struct{ a, b, least, most int }{
		{0, 1, 430, 497}, // the rules
		{0, 2, 500, 502}, // all of the earlier prompt
		{2, 3, 500, 540}, // and the answer "hi"
		{0, 4, 0, 2}, {1, 4, 0, 2},
	} {
		if got := commonIDs(p[tt.a].IDs, p[tt.b].IDs); got < tt.least || got > tt.most {
			t.Errorf("prompts %d and %d have %d ids in common, want %d to %d", tt.a, tt.b, got, tt.least, tt.most)
		}
	}
	for i, want := range map[int]int{2: 0, 3: -1, 4: -1} { // what it continues
		if from := table.Entries[i].Turn.From; want < 0 != (from == nil) && i != 3 || from != nil && i == 2 && *from != want {
			t.Errorf("call %d continues %v, want %d", i, from, want)
		}
	}
	if from := table.Entries[3].Turn.From; from != nil && *from != 0 {
		t.Errorf("call 3 continues %d, whose messages it does not begin with", *from)
	}
}

// TestMessagesAsValues: exporters write messages as a text or as a list, and neither order nor length of a file changes
// what prompts have in common.
func TestMessagesAsValues(t *testing.T) {
	list := func(export string) string {
		return strings.Replace(export, `"attributes":[`,
			`"attributes":[{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},`, 1)
	}
	text := list(otlpSpans(2, "1 0 2 3 90 20")) + "\n" + list(otlpSpans(1, "1 0 0 1 80 20")) // the later one comes first
	table, err := readKind(t, "trace", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	src := fromFile(t, steps.Dataset{Kind: "trace", Path: "p"}, dataset.Material{Corpus: dataset.Corpus{IDs: ids(5000)}, Table: table})
	p := promptsOf(src, 2, dataset.Seeds{1, 1})
	if got := commonIDs(p[0].IDs, p[1].IDs); len(p[0].IDs) != 80 || len(p[1].IDs) != 90 || got < 80 || got > 82 {
		t.Errorf("prompts of %d and %d tokens have %d in common, want 80", len(p[0].IDs), len(p[1].IDs), got)
	}
}
