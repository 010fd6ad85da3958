package dataset_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"pgregory.net/rapid"
)

func talkSpec(turns, users int) steps.Dataset {
	return steps.Dataset{
		Kind: "chat", InputMin: 3, InputMax: 6, OutputMin: 2, OutputMax: 5,
		Options: map[string]any{"turns": turns, "users": users, "real_answers": true},
	}
}

// TestTurns: every request is one turn of one conversation, and waits for the turn before it, which is an earlier
// request.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns, users := rapid.IntRange(1, 9).Draw(t, "turns"), rapid.IntRange(1, 9).Draw(t, "users")
		src, err := synthesize(talkSpec(turns, users), dataset.Corpus{Chat: true})
		if err != nil {
			t.Fatal(err)
		}
		d := src.(dataset.Sessions)
		i := rapid.IntRange(0, 10_000).Draw(t, "i")
		requests := d.Requests(d.Session(i))
		turn := slices.Index(requests, i)
		if turn < 0 || len(requests) != turns || !slices.IsSorted(requests) {
			t.Fatalf("request %d is turn %d of %v", i, turn, requests)
		}
		if before := d.Answers(i); !slices.Equal(before, requests[:turn]) {
			t.Fatalf("request %d repeats the answers to %v of %v", i, before, requests)
		}
		after, wait := d.After(i)
		if wait != 0 || !slices.Equal(after, requests[max(turn-1, 0):turn]) {
			t.Fatalf("request %d waits %v after %v of %v", i, wait, after, requests)
		}
		if next := d.Requests(d.Session(i) + 1); next[0] <= requests[0] {
			t.Fatal("conversations do not begin in order")
		}
	})
}

// TestContinue: real answers stand where made-up ones were, and change nothing else.
func TestContinue(t *testing.T) {
	src, err := synthesize(talkSpec(3, 1), dataset.Corpus{Chat: true})
	if err != nil {
		t.Fatal(err)
	}
	d, seeds := src.(dataset.Sessions), dataset.Seeds{1, 2}
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
	if _, err := synthesize(talkSpec(3, 1), dataset.Corpus{}); err == nil {
		t.Error("real answers without messages")
	}
	plain := talkSpec(3, 1)
	plain.Options["real_answers"] = false
	if src, err := synthesize(plain, dataset.Corpus{Chat: true}); err != nil {
		t.Error(err)
	} else if _, is := src.(dataset.Sessions); is {
		t.Error("a dialogue that nobody asked for")
	}
}
