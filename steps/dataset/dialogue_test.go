package dataset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"pgregory.net/rapid"
)

func talkSpec(turns, users int) steps.Dataset {
	return steps.Dataset{
		Kind: "chat", InputMin: 3, InputMax: 6, OutputMin: 2, OutputMax: 5,
		Options: map[string]any{"turns": turns, "users": users, "real_answers": true},
	}
}

// TestTurns: every request is one turn of one conversation, and the turn before it is an
// earlier request.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns, users := rapid.IntRange(1, 9).Draw(t, "turns"), rapid.IntRange(1, 9).Draw(t, "users")
		src, err := synthesize(talkSpec(turns, users), Corpus{Chat: true})
		if err != nil {
			t.Fatal(err)
		}
		d := src.(Dialogue)
		i := rapid.IntRange(0, 10_000).Draw(t, "i")
		conversation, turn := d.Turn(i)
		if d.Request(conversation, turn) != i || turn < 0 || turn >= d.Turns() || d.Turns() != turns {
			t.Fatalf("request %d is turn %d of conversation %d, which is request %d", i, turn, conversation, d.Request(conversation, turn))
		}
		if turn > 0 && d.Request(conversation, turn-1) >= i {
			t.Fatalf("request %d follows a later one", i)
		}
		if d.Request(conversation+1, 0) <= d.Request(conversation, 0) {
			t.Fatal("conversations do not begin in order")
		}
	})
}

// TestContinue: real answers stand where made-up ones were, and change nothing else.
func TestContinue(t *testing.T) {
	src, err := synthesize(talkSpec(3, 1), Corpus{Chat: true})
	if err != nil {
		t.Fatal(err)
	}
	d, seeds := src.(Dialogue), Seeds{1, 2}
	if diff := cmp.Diff(d.Prompt(2, seeds), d.Continue(2, seeds, []json.RawMessage{nil, nil})); diff != "" {
		t.Errorf("without answers: %s", diff)
	}
	var made, real []struct{ Role, Content string }
	p := d.Continue(2, seeds, []json.RawMessage{json.RawMessage(`"say \"€\" \ud83d\ude00"`), nil})
	if err := json.Unmarshal(p.Messages, &real); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Prompt(2, seeds).Messages, &made); err != nil {
		t.Fatal(err)
	}
	made[1].Content = `say "€" 😀`
	if diff := cmp.Diff(made, real); diff != "" {
		t.Error(diff)
	}
	if _, err := synthesize(talkSpec(3, 1), Corpus{}); err == nil {
		t.Error("real answers without messages")
	}
	plain := talkSpec(3, 1)
	plain.Options["real_answers"] = false
	if src, err := synthesize(plain, Corpus{Chat: true}); err != nil {
		t.Error(err)
	} else if _, is := src.(Dialogue); is {
		t.Error("a dialogue that nobody asked for")
	}
}
