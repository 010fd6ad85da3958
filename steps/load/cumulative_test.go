package load

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/record"
	"pgregory.net/rapid"
)

// generated is the record and the kept answer of SGLang's own endpoint whose events had these texts.
func generated(texts []string) (record.Request, record.Answer, record.Failure) {
	rec := record.Request{Status: 200, WantTokens: len(texts)}
	s := newStream(endpointGenerate, false, 1, &rec)
	s.words = &words{}
	var err error
	for i, text := range texts {
		finish := map[string]any{"type": "length"}
		if i < len(texts)-1 {
			finish = nil
		}
		b, _ := json.Marshal(map[string]any{"text": text, "meta_info": map[string]any{"completion_tokens": i + 1, "finish_reason": finish}})
		if err == nil {
			err = s.body([]byte("data: "+string(b)+"\n\n"), int64(i+1))
		}
	}
	a, failure, _ := s.answer(&response{status: 200, sawStatus: true, state: complete}, s.end(err), false)
	return rec, a, failure
}

// TestRepeatedText: a text is the same text, with the same sum, whether each event repeats it whole or
// has the new part alone.
func TestRepeatedText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(
			rapid.StringOfN(rapid.SampledFrom([]rune("ab é😀\n\"\\")), 0, 3, -1),
			rapid.Just(strings.Repeat("long ", maxEnd/5)))
		pieces := rapid.SliceOfN(piece, 1, 12).Draw(t, "pieces")
		whole := strings.Join(pieces, "")
		var repeated []string
		for i := range pieces {
			repeated = append(repeated, strings.Join(pieces[:i+1], ""))
		}
		want := newTextSum()
		b, _ := json.Marshal(whole)
		want.add(b[1 : len(b)-1])
		check := func(form string, events []string) {
			rec, a, failure := generated(events)
			if failure != "" || a.Text != whole {
				t.Errorf("%s: %q %q, want %q", form, failure, a.Text, whole)
			}
			if rec.Text == nil || *rec.Text != *want.record(rec.Text.Blank) {
				t.Errorf("%s: %+v, want %+v", form, rec.Text, want)
			}
		}
		check("repeated", repeated)
		if first, second := different(pieces); second != "" && !strings.HasPrefix(second, first) {
			check("new text alone", pieces)
		}
	})
}

// different returns the first text and the first one after it that is another.
func different(pieces []string) (first, second string) {
	for _, p := range pieces {
		switch {
		case p == "" || p == first:
		case first == "":
			first = p
		default:
			return first, p
		}
	}
	return first, ""
}

// TestTextTakenBack: an event that takes back what an earlier one had leaves no sum of the text, and no answer.
func TestTextTakenBack(t *testing.T) {
	for name, texts := range map[string][]string{
		"shorter": {"ab", "ab cd", "ab"},
		"another": {"ab", "ab cd", "ab ce f"},
	} {
		if rec, a, failure := generated(texts); rec.Text != nil || a.Text != "" || failure != record.FailGarbage {
			t.Errorf("%s: %+v %+v %q", name, rec.Text, a, failure)
		}
	}
}
