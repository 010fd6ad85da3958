package load

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/record"
	"pgregory.net/rapid"
)

// streamed is the record of an answer whose events came one a nanosecond.
func streamed(t *testing.T, e endpoint, want int, events ...string) (record.Request, record.Failure) {
	t.Helper()
	rec := record.Request{Status: 200, WantTokens: want}
	s := newStream(e, false, 1, &rec)
	var err error
	for i, data := range append(events, "[DONE]") {
		if err == nil {
			err = s.body([]byte("data: "+data+"\n\n"), int64(i+1))
		}
	}
	failure, _ := s.classify(&response{status: 200, sawStatus: true, state: complete}, s.end(err), false)
	return rec, failure
}

// completion is an event of the completions endpoint.
func completion(text string, tokens int, finish string) string {
	choice := map[string]any{"text": text, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	b, _ := json.Marshal(map[string]any{"choices": []any{choice}, "usage": map[string]any{"prompt_tokens": 3, "completion_tokens": tokens}})
	return string(b)
}

// TestClosingEvent: an event that only ends the answer does not count as a token, whether the server counts its tokens in
// each event or at the end. An empty last token counts if the server counts it.
func TestClosingEvent(t *testing.T) {
	plain := func(text, finish string) string {
		return strings.Replace(completion(text, 0, finish), `"usage":{"completion_tokens":0,"prompt_tokens":3}`, `"usage":null`, 1)
	}
	total := func(tokens int) string {
		return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, tokens)
	}
	chat := `{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`
	chatEnd := `{"choices":[{"delta":{"content":""},"finish_reason":"length"}]}`
	inEach := func(last int) []string {
		return []string{completion("a", 1, ""), completion("b", 2, ""), completion("", last, "length")}
	}
	atEnd := func(tokens int) []string {
		return []string{plain("a", ""), plain("b", ""), plain("", "length"), total(tokens)}
	}
	for name, tt := range map[string]struct {
		endpoint endpoint
		events   []string
		want     int // tokens, and events with one
	}{
		"counted at the end":         {endpointCompletions, atEnd(2), 2},
		"counted in each":            {endpointCompletions, inEach(2), 2},
		"chat":                       {endpointChat, []string{chat, chat, chatEnd, total(2)}, 2},
		"an empty token, at the end": {endpointCompletions, atEnd(3), 3},
		"an empty token, in each":    {endpointCompletions, inEach(3), 3},
		"a last token with text":     {endpointCompletions, []string{plain("a", ""), plain("b", "length"), total(1)}, 2},
		"the only token, empty":      {endpointCompletions, []string{plain("", "length"), total(1)}, 1},
	} {
		rec, failure := streamed(t, tt.endpoint, 3, tt.events...)
		if failure != "" || len(rec.Events) != tt.want {
			t.Errorf("%s: %q, %d events, want %d", name, failure, len(rec.Events), tt.want)
		}
	}
	// One that came in the read of the token before it is not a token that shares a read.
	rec := record.Request{Status: 200, WantTokens: 1}
	s := newStream(endpointCompletions, false, 1, &rec)
	read := "data: " + strings.Join([]string{plain("a", ""), plain("", "length"), total(1), "[DONE]"}, "\n\ndata: ") + "\n\n"
	if err := s.end(s.body([]byte(read), 5)); err != nil || len(rec.Events) != 1 || s.coalesced.events != 0 || s.coalesced.sum != 0 {
		t.Errorf("%v, %d events, %+v", err, len(rec.Events), s.coalesced)
	}
}

// TestFirstText: the time to first token is to the first event with text, whatever came before; an
// answer without any text is timed by its first token.
func TestFirstText(t *testing.T) {
	delta := func(members string) string {
		return `{"choices":[{"delta":{` + members + `},"finish_reason":null}]}`
	}
	end := `{"choices":[{"delta":{},"finish_reason":"length"}]}`
	for _, tt := range []struct {
		name     string
		endpoint endpoint
		events   []string
		first    int64 // time of the first event with text
		blank    int
		chars    int
	}{
		{"text at once", endpointCompletions, []string{completion("ab", 1, ""), completion(" c", 2, "length")}, 1, 0, 3},
		{"an empty token", endpointCompletions, []string{completion("", 1, ""), completion("ab", 2, "length")}, 2, 1, 2},
		{"spaces", endpointCompletions, []string{completion(" ", 1, ""), completion("\n\t", 2, ""), completion("\u200b", 3, ""),
			completion("ab", 4, "length")}, 4, 3, 2},
		{"letters without a shape", endpointCompletions, []string{completion("\u2800", 1, ""), completion("\u3164\ufe0f", 2, ""),
			completion("\U000e0061", 3, ""), completion("\u05d0\u4f60", 4, "length")}, 4, 3, 2},
		{"escaped spaces", endpointCompletions, []string{strings.Replace(completion("X", 1, ""), "X", `\u00a0\u0020`, 1),
			completion("é", 2, "length")}, 2, 1, 1},
		{"nothing but blanks", endpointCompletions, []string{completion("", 1, ""), completion(" ", 2, "length")}, 1, 0, 0},
		{"a role", endpointChat, []string{delta(`"role":"assistant","content":""`), delta(`"content":""`), delta(`"content":"a"`), end}, 3, 1, 1},
		{"reasoning", endpointChat, []string{delta(`"reasoning_content":"hm"`), delta(`"content":"a"`), end}, 1, 0, 3},
		{"a tool call", endpointChat, []string{delta(`"tool_calls":[{"id":"x1","function":{"name":"f","arguments":"{}"}}]`), end}, 1, 0, 3},
		{"cumulative", endpointGenerate, []string{
			`{"text":"","meta_info":{"completion_tokens":1,"finish_reason":null}}`,
			`{"text":"ab","meta_info":{"completion_tokens":2,"finish_reason":null}}`,
			`{"text":"ab cd","meta_info":{"completion_tokens":3,"finish_reason":{"type":"length"}}}`}, 2, 1, 4},
	} {
		rec, failure := streamed(t, tt.endpoint, 8, tt.events...)
		if failure != "" || rec.Text == nil {
			t.Fatalf("%s: %s %v", tt.name, failure, rec.Text)
		}
		if got := rec.First().At; got != tt.first || rec.Text.Blank != tt.blank || rec.Text.Chars != tt.chars {
			t.Errorf("%s: first text at %d, %+v, want %d", tt.name, got, *rec.Text, tt.first)
		}
		if thought := rec.Text.Reasoning; (thought == 2) != (tt.name == "reasoning") || thought > 2 {
			t.Errorf("%s: %d characters of reasoning", tt.name, thought)
		}
	}
}

// TestMoreTokensThanAsked: a request that is answered with more tokens than were asked for has failed,
// by the server's own count.
func TestMoreTokensThanAsked(t *testing.T) {
	for _, tt := range []struct {
		tokens int
		want   record.Failure
	}{{7, ""}, {8, ""}, {9, record.FailLong}} {
		if _, got := streamed(t, endpointCompletions, 8, completion("a", tt.tokens, "length")); got != tt.want {
			t.Errorf("%d tokens of 8: %q, want %q", tt.tokens, got, tt.want)
		}
	}
}

// TestTextSum: how a text is cut into events and which of its characters are escaped changes nothing,
// and another text has another sum. Ids of tool calls are no text.
func TestTextSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("ab é😀/\n\u00a0\"\\"))), 1, 6).Draw(t, "parts")
		whole, cut := newTextSum(), newTextSum()
		raw := func(text string) []byte {
			b, _ := json.Marshal(text)
			return b[1 : len(b)-1]
		}
		escaped := rapid.Bool().Draw(t, "escaped")
		for _, part := range parts {
			b := raw(part)
			if escaped {
				b = []byte(strings.NewReplacer("é", `\u00e9`, "😀", `\ud83d\ude00`, "/", `\/`).Replace(string(b)))
			}
			cut.add(b)
		}
		whole.add(raw(strings.Join(parts, "")))
		if whole != cut {
			t.Fatalf("%+v whole, %+v in pieces", whole, cut)
		}
		other := newTextSum()
		other.add(raw(strings.Join(parts, "") + "!"))
		if other.hash == whole.hash || other.chars != whole.chars+1 {
			t.Fatalf("%+v with another character, %+v without", other, whole)
		}
	})
	calls := func(id string) uint32 {
		s := newTextSum()
		s.addCalls([]byte(`[{"index":0,"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`))
		return s.hash
	}
	if calls("x") != calls("y") || calls("x") == newTextSum().hash {
		t.Error("the id of a tool call is a part of its sum, or its name is none")
	}
}
