package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
)

// talker answers chat requests with words of its own, and fails those that fail says.
func talker(t *testing.T, fail func(messages int) bool) (s *rawServer, said *sync.Map) {
	t.Helper()
	said = &sync.Map{}
	var mu sync.Mutex
	n := 0
	return serve(t, func(w net.Conn, _ string, body map[string]any) bool {
		messages := body["messages"].([]any)
		mu.Lock()
		n++
		words := fmt.Sprintf("reply %d \"quoted\" \\ 😀\n", n)
		mu.Unlock()
		if fail != nil && fail(len(messages)) {
			return reply(w, "503 Busy", "text/plain", "busy")
		}
		said.Store(words, true)
		text, _ := json.Marshal(words)
		streamHead(w)
		piece(w, `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}`+"\n\n")
		// A rune may be escaped, and cut between events.
		half := strings.Replace(string(text[1:len(text)-1]), "😀", `\ud83d|\ude00`, 1)
		for i, part := range strings.Split(half, "|") {
			piece(w, fmt.Sprintf(`data: {"choices":[{"delta":{"content":"%s"}}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`+
				"\n\n", part, 2*i+2))
		}
		piece(w, `data: {"choices":[{"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
		return streamEnd(w)
	}), said
}

func chatWorkload(l steps.Load) steps.Workload {
	return steps.Workload{
		Endpoint: "chat", IgnoreEOS: true, Load: l,
		Dataset: steps.Dataset{
			Kind: "chat", InputMin: 4, InputMax: 4, OutputMin: 4, OutputMax: 4,
			Options: map[string]any{"turns": 3, "users": 2, "system_len": 4, "real_answers": true},
		},
	}
}

// sentMessages are the messages of a request by its user messages, which no other has.
func sentMessages(t *testing.T, body map[string]any) (roles, texts []string) {
	t.Helper()
	for _, m := range body["messages"].([]any) {
		m := m.(map[string]any)
		roles, texts = append(roles, m["role"].(string)), append(texts, m["content"].(string))
	}
	return roles, texts
}

// TestRealAnswers: each turn holds what the server said before, word for word, whatever
// the load, and is not sent before it was said.
func TestRealAnswers(t *testing.T) {
	for name, l := range map[string]steps.Load{
		"closed":           {Arrival: Closed, MaxConcurrency: 2, Requests: 12, ThinkTime: time.Millisecond},
		"closed, one user": {Arrival: Closed, MaxConcurrency: 1, Requests: 11},
		"open":             {Arrival: Constant, Rate: 20_000, Requests: 12},
		"bounded":          {Arrival: Unlimited, MaxConcurrency: 3, Requests: 12},
	} {
		t.Run(name, func(t *testing.T) {
			s, said := talker(t, nil)
			run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: chatWorkload(l), Seed: 1}).Run
			if run.Requests.Len() != l.Requests {
				t.Fatalf("%d requests", run.Requests.Len())
			}
			turns := map[int]int{}
			for _, body := range s.seen().bodies {
				roles, texts := sentMessages(t, body)
				turns[len(roles)]++
				for k, role := range roles {
					if _, real := said.Load(texts[k]); real != (role == "assistant") {
						t.Errorf("message %d of %v: %s says %q", k, roles, role, texts[k])
					}
				}
			}
			for i, n := range map[int]int{2: 4, 4: 4, 6: l.Requests - 8} { // system and user, then two more a turn
				if turns[i] != n {
					t.Errorf("%d requests of %d messages, want %d", turns[i], i, n)
				}
			}
			for i, r := range run.Requests.All() {
				if r.Failure != "" || r.Index != i {
					t.Errorf("%+v", r)
				}
				if before := i - 2; i%6 >= 2 && r.Sent < run.Requests.At(before).Done {
					t.Errorf("turn %d was sent at %d, before the answer at %d", i, r.Sent, run.Requests.At(before).Done)
				}
			}
		})
	}
}

// TestLagOfTurns: a turn lags behind its plan or behind the end of the answer before it,
// whichever is later. All turns are planned for the start, so that each but the first
// waits for an answer.
func TestLagOfTurns(t *testing.T) {
	s, _ := talker(t, nil)
	l := steps.Load{Arrival: Unlimited, Requests: 12}
	r, err := prepare(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: chatWorkload(l), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.pool.close()
	run := r.measure(t.Context())
	if r.recs.Len() != l.Requests {
		t.Fatalf("%d requests", r.recs.Len())
	}
	for k, rec := range r.recs.All() {
		i, lag := rec.Index, r.sends.lags[k]
		due := int64(0)
		if i%6 >= 2 {
			due = run.Requests.At(i - 2).Done
		}
		if lag != rec.Sent-due {
			t.Errorf("turn %d: sent at %d, due at %d, a lag of %d", i, rec.Sent, due, lag)
		}
	}
}

// TestNextTurn: a turn holds what was said, and a first turn is not rendered again.
func TestNextTurn(t *testing.T) {
	s, _ := talker(t, nil)
	r, err := prepare(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: chatWorkload(steps.Load{Arrival: Unlimited, Requests: 6}),
		Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.pool.close()
	if _, wire, err := r.next(0); err != nil || &wire[0] != &r.work.wires[0][0] {
		t.Errorf("the first turn was rendered again, %v", err)
	}
	r.sessions.keep(0, json.RawMessage(`"what was said"`))
	if _, wire, err := r.next(2); err != nil || !strings.Contains(string(wire), "what was said") {
		t.Errorf("%v\n%s", err, wire)
	}
	if r.sessions.forget(4); len(r.sessions.byRequest) != 0 {
		t.Errorf("kept of a conversation that is over: %v", r.sessions.byRequest)
	}
}

// TestConversationAfterAFailure goes on with a made-up answer.
func TestConversationAfterAFailure(t *testing.T) {
	s, said := talker(t, func(messages int) bool { return messages == 4 })
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: chatWorkload(steps.Load{Arrival: Closed, MaxConcurrency: 2,
		Requests: 6}), Seed: 1}).Run
	failed := 0
	for _, r := range run.Requests.All() {
		if r.Failure == record.FailStatus {
			failed++
		}
	}
	if run.Requests.Len() != 6 || failed != 2 {
		t.Fatalf("%d requests, %d failed", run.Requests.Len(), failed)
	}
	for _, body := range s.seen().bodies {
		_, texts := sentMessages(t, body)
		if len(texts) < 6 {
			continue
		}
		_, first := said.Load(texts[2])
		if _, second := said.Load(texts[4]); !first || second || texts[4] == "" {
			t.Errorf("answers %q and %q", texts[2], texts[4])
		}
	}
}

// TestRealAnswersNeedChat: other endpoints have no messages.
func TestRealAnswersNeedChat(t *testing.T) {
	w := chatWorkload(steps.Load{Arrival: Unlimited, Requests: 1})
	w.Endpoint = "completions"
	s := serve(t, healthy)
	if _, err := Run(t.Context(), Options{BaseURL: s.URL, Model: "m", Workload: w}); err == nil ||
		!strings.Contains(err.Error(), `endpoint "chat"`) {
		t.Errorf("error %v", err)
	}
}

// TestNotRehearsed: what a model of answers has not is refused, not left out.
func TestNotRehearsed(t *testing.T) {
	vectors := workload(1)
	vectors.Endpoint = "embeddings"
	for _, w := range []steps.Workload{vectors, chatWorkload(steps.Load{Arrival: Unlimited, Requests: 1})} {
		if _, err := Rehearse(t.Context(), Options{Workload: w}, nil); !errors.Is(err, steps.ErrUnsupported) ||
			!strings.Contains(err.Error(), "cannot be rehearsed") {
			t.Errorf("%s: error %v", w.Endpoint, err)
		}
	}
}

// TestStoppedConversation: turns that wait for answers end with the run.
func TestStoppedConversation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(net.Conn, string, map[string]any) bool { cancel(); <-ctx.Done(); return false })
	for _, l := range []steps.Load{{Arrival: Unlimited, Requests: 12}, {Arrival: Closed, MaxConcurrency: 2, Requests: 12}} {
		res, err := Run(ctx, Options{BaseURL: s.URL, Model: "m", Workload: chatWorkload(l)})
		if !errors.Is(err, context.Canceled) || res.Run.Requests.Len() > 4 { // the first turns
			t.Errorf("%d requests, error %v", res.Run.Requests.Len(), err)
		}
	}
}

// TestConversationOfTimeouts: every turn is sent, and fails on its own.
func TestConversationOfTimeouts(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	s := serve(t, func(net.Conn, string, map[string]any) bool { <-hang; return false })
	w := chatWorkload(steps.Load{Arrival: Unlimited, Requests: 12})
	w.RequestTimeout = 50 * time.Millisecond
	run := mustRun(t, Options{BaseURL: s.URL, Model: "m", Workload: w}).Run
	if run.Requests.Len() != 12 || record.Count(run).Failed != 12 {
		t.Errorf("%d requests, %d failed", run.Requests.Len(), record.Count(run).Failed)
	}
}
