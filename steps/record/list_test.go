package record_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/servegate/pipeline/steps/record"
)

// drawnRequest draws a request of which every member can have every value.
func drawnRequest(t *rapid.T) record.Request {
	when := rapid.OneOf(rapid.Int64Range(-1, 1e13), rapid.Int64())
	count := rapid.OneOf(rapid.IntRange(-1, 300), rapid.Int())
	word := rapid.OneOf(rapid.SampledFrom([]string{"", "length", "stop", "cut"}), rapid.String())
	sum := rapid.Uint32()
	r := record.Request{
		Index: count.Draw(t, "index"), Planned: when.Draw(t, "planned"), Sent: when.Draw(t, "sent"), Headers: when.Draw(t, "headers"),
		Done: when.Draw(t, "done"), Resent: rapid.Bool().Draw(t, "resent"), PromptTokens: count.Draw(t, "prompt"),
		WantTokens: count.Draw(t, "want"), OutputTokens: count.Draw(t, "output"), CachedTokens: count.Draw(t, "cached"),
		Status: count.Draw(t, "status"), Finish: word.Draw(t, "finish"), Failure: record.Failure(word.Draw(t, "failure")),
		Error: word.Draw(t, "error"), Asked: sum.Draw(t, "asked"), Continues: rapid.Bool().Draw(t, "continues"),
	}
	event := rapid.Custom(func(t *rapid.T) record.Event {
		return record.Event{At: when.Draw(t, "at"), Tokens: count.Draw(t, "tokens")}
	})
	r.Events = rapid.SliceOfN(event, 0, 12).Draw(t, "events")
	if rapid.Bool().Draw(t, "one each") {
		for k := range r.Events {
			r.Events[k].Tokens = k + 1
		}
	}
	if len(r.Events) == 0 {
		r.Events = nil
	}
	if rapid.Bool().Draw(t, "known text") {
		r.Text = &record.Text{Chars: count.Draw(t, "chars"), Sum: sum.Draw(t, "sum"), Begin: sum.Draw(t, "begin"), First: sum.Draw(t, "first"),
			End: sum.Draw(t, "end"), Blank: count.Draw(t, "blank"), Reasoning: count.Draw(t, "reasoning")}
	}
	if rapid.Bool().Draw(t, "answered") {
		r.Answer = &record.Answer{Text: rapid.String().Draw(t, "text"), Tokens: []string{"a"}, Logprobs: []float64{-1}}
	}
	if rapid.Bool().Draw(t, "in a session") {
		r.Session = new(count.Draw(t, "session"))
	}
	return r
}

// TestListReturnsWhatWasAdded: a list returns each request as it was added, one by one, in turn, through JSON, and edited.
func TestListReturnsWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		requests := rapid.SliceOfN(rapid.Custom(drawnRequest), 0, 20).Draw(t, "requests")
		list := record.ListOf(requests...)
		events := 0
		for i, r := range requests {
			if d := diff.Diff(r, list.At(i)); d != "" {
				t.Fatalf("request %d: %s", i, d)
			}
			events += len(r.Events)
		}
		if list.Len() != len(requests) || list.Events() != events {
			t.Fatalf("%d requests with %d events, want %d with %d", list.Len(), list.Events(), len(requests), events)
		}
		equal := func(what string, got record.List, want []record.Request) {
			t.Helper()
			n := 0
			for i, r := range got.All() {
				if d := diff.Diff(want[i], *r); i != n || d != "" {
					t.Fatalf("%s, request %d: %s", what, i, d)
				}
				n++
			}
			if n != len(want) {
				t.Fatalf("%s: %d requests, want %d", what, n, len(want))
			}
		}
		equal("in turn", list, requests)

		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var read record.List
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		equal("through JSON", read, requests)

		sorted := slices.Clone(requests)
		slices.SortStableFunc(sorted, func(a, b record.Request) int { return cmp.Compare(a.Index, b.Index) })
		equal("sorted", list.Sorted(), sorted)

		edited := slices.Clone(requests)
		for i := range edited {
			edited[i].Error, edited[i].Events = "masked", append(slices.Clone(edited[i].Events), record.Event{At: 1, Tokens: 1})
		}
		list.Edit(func(r *record.Request) {
			r.Error, r.Events = "masked", append(r.Events, record.Event{At: 1, Tokens: 1})
		})
		equal("edited", list, edited)
	})
}

// TestLongListsAllocateLittle: a list allocates for many requests at once, however long it is, and edits them in its own memory.
func TestLongListsAllocateLittle(t *testing.T) {
	const requests = 400_000
	events := make([]record.Event, 8)
	for k := range events {
		events[k] = record.Event{At: int64(k+1) * 1_000_000_000, Tokens: k + 1}
	}
	var list record.List
	if n := testing.AllocsPerRun(1, func() {
		list = record.List{}
		for i := range requests {
			list.Add(record.Request{Index: i, Events: events, PromptTokens: 1})
		}
	}); n > 1000 {
		t.Errorf("%.0f allocations for %d requests", n, requests)
	}
	n, round := 0, 0
	if allocs := testing.AllocsPerRun(1, func() {
		round++
		list.Edit(func(r *record.Request) { r.PromptTokens++ })
	}); allocs > 100 {
		t.Errorf("%.0f allocations to edit", allocs)
	}
	for i, r := range list.All() {
		if n++; r.Index != i || r.PromptTokens != 1+round || len(r.Events) != len(events) || r.Events[7] != events[7] {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	if n != requests {
		t.Errorf("%d requests", n)
	}
}
