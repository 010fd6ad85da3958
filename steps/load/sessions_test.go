package load

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
)

// agents are two sessions: a call, two calls at once after 20 ms of a tool, and one that waits for
// both; and a call with one that follows after 5 ms.
const agents = `{"timestamp":0,"duration":1,"input_length":20,"output_length":4,"hash_ids":[1],"session_id":"a"}
{"timestamp":0,"duration":1,"input_length":20,"output_length":4,"hash_ids":[2],"session_id":"b"}
{"timestamp":6,"duration":1,"input_length":30,"output_length":4,"hash_ids":[2],"session_id":"b"}
{"timestamp":21,"duration":2,"input_length":30,"output_length":4,"hash_ids":[1],"session_id":"a"}
{"timestamp":22,"duration":2,"input_length":12,"output_length":4,"hash_ids":[3],"session_id":"a"}
{"timestamp":25,"duration":1,"input_length":40,"output_length":4,"hash_ids":[1],"session_id":"a"}
`

func agentWorkload(t *testing.T, text string, l steps.Load, options map[string]any) Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "trace.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Model: "m", Seed: 1, Files: &dataset.Files{Dir: dir}, Workload: steps.Workload{
		Endpoint: "chat", IgnoreEOS: true, Load: l, Dataset: steps.Dataset{Kind: "trace", Path: "trace.jsonl", Options: options},
	}}
}

// TestSessionsInOrder: a request of a session is not sent before those that it waits for have ended and
// its tools had their time, whatever the load; and the session's time is from its first send to its
// last token.
func TestSessionsInOrder(t *testing.T) {
	type after struct {
		of   []int
		wait time.Duration
	}
	waits := map[int]after{2: {[]int{1}, 5 * time.Millisecond}, 3: {[]int{0}, 20 * time.Millisecond}, 4: {[]int{0}, 21 * time.Millisecond},
		5: {[]int{3, 4}, time.Millisecond}}
	for name, l := range map[string]steps.Load{
		"at their times": {Arrival: Trace, Requests: 6},
		"bounded":        {Arrival: Trace, Requests: 6, MaxConcurrency: 1},
		"closed":         {Arrival: Closed, Requests: 12, MaxConcurrency: 1},
		"closed, two":    {Arrival: Closed, Requests: 10, MaxConcurrency: 2, ThinkTime: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s, said := talker(t, nil)
			opt := agentWorkload(t, agents, l, map[string]any{"real_answers": true})
			opt.BaseURL = s.URL
			run := mustRun(t, opt).Run
			if run.Requests.Len() != l.Requests {
				t.Fatalf("%d requests", run.Requests.Len())
			}
			for i, r := range run.Requests.All() {
				w := waits[i%6]
				if r.Failure != "" || r.Index != i || (r.Planned < 0) != (len(w.of) > 0 || l.Arrival == Closed) {
					t.Errorf("%+v", r)
				}
				for _, p := range w.of {
					if gap := time.Duration(r.Sent - run.Requests.At(i/6*6+p).Done); gap < w.wait-time.Microsecond {
						t.Errorf("request %d was sent %v after request %d, want %v", i, gap, p, w.wait)
					}
				}
			}
			checkSessions(t, run, l)
			repeated := 0
			for _, body := range s.seen().bodies {
				roles, texts := sentMessages(t, body)
				for k, role := range roles {
					if _, real := said.Load(texts[k]); real != (role == "assistant") {
						t.Errorf("message %d of %v: %s says %q", k, roles, role, texts[k])
					}
				}
				repeated += len(roles) / 2
			}
			if want := map[int]int{6: 4, 10: 6, 12: 8}[l.Requests]; repeated != want {
				t.Errorf("%d answers are repeated, want %d", repeated, want)
			}
		})
	}
}

// checkSessions checks which session requests are part of, and the sessions' times.
func checkSessions(t *testing.T, run record.Run, l steps.Load) {
	t.Helper()
	numbers := []int{0, 1, 1, 0, 0, 0}
	for i, r := range run.Requests.All() {
		number := i/6*2 + numbers[i%6]
		if r.Session == nil || *r.Session != number {
			t.Errorf("request %d is of session %v, want %d", i, r.Session, number)
		}
	}
	begin, end, sum := map[int]int64{}, map[int]int64{}, 0.0
	for i, r := range run.Requests.All() {
		session := i/6*2 + numbers[i%6]
		if at, has := begin[session]; !has || r.Sent < at {
			begin[session] = r.Sent
		}
		end[session] = max(end[session], r.Events[len(r.Events)-1].At)
	}
	for session := range end {
		sum += float64(end[session]-begin[session]) / 1e9
	}
	want := sum / float64((l.Requests+5)/6*2)
	if got := record.Reduce(run)["session_time.mean"]; math.Abs(got-want) > 1e-9 {
		t.Errorf("sessions of %g s in the mean, want %g", got, want)
	}
}

// TestSessionsCut: where the end of a run cuts a session, none has a time, since those that are cut are the
// long ones.
func TestSessionsCut(t *testing.T) {
	s := &sessions{src: numbered{}}
	for sent, want := range map[int]int{3: 3, 2: 0} { // request 1 was not sent
		var requests record.List
		for _, i := range []int{0, 2, 1}[:sent] {
			requests.Add(record.Request{Index: i})
		}
		got := 0
		s.number(&requests)
		for _, r := range requests.All() {
			if r.Session != nil {
				got++
			}
		}
		if got != want {
			t.Errorf("of %d requests %d are of sessions, want %d", sent, got, want)
		}
	}
}

// numbered is a source of which a session has two requests, and the next one.
type numbered struct{ dataset.Sessions }

func (numbered) Len() int                    { return 3 }
func (numbered) Times(n int) []time.Duration { return make([]time.Duration, n) }
func (numbered) Session(i int) int           { return i / 2 }
func (numbered) Requests(session int) []int  { return [][]int{{0, 1}, {2}}[session] }

// TestSessionsGoOn: after a request that failed its session goes on, and has no time.
func TestSessionsGoOn(t *testing.T) {
	s, _ := talker(t, func(messages int) bool { return messages == 3 })
	opt := agentWorkload(t, agents, steps.Load{Arrival: Trace, Requests: 6}, map[string]any{"real_answers": true})
	opt.BaseURL = s.URL
	run := mustRun(t, opt).Run
	if run.Requests.Len() != 6 || run.Requests.At(3).Failure != record.FailStatus || run.Requests.At(5).Failure != "" {
		t.Fatalf("%+v", run.Requests)
	}
	if mean, has := record.Reduce(run)["session_time.mean"]; has {
		t.Errorf("sessions of %g s", mean)
	}
}

// TestSessionsRefused: sessions are not sent by loads that know nothing of them.
func TestSessionsRefused(t *testing.T) {
	s, _ := talker(t, nil)
	for want, opt := range map[string]Options{
		`arrival "poisson" cannot send the sessions of a trace`: agentWorkload(t, agents, steps.Load{Arrival: Poisson, Rate: 5, Requests: 6},
			nil),
		"real_answers needs a trace of sessions": agentWorkload(t, `{"timestamp":0,"input_length":20,"output_length":4}`,
			steps.Load{Arrival: Trace, Requests: 1}, map[string]any{"real_answers": true}),
	} {
		opt.BaseURL = s.URL
		_, err := Run(t.Context(), opt)
		if _, invalid := errors.AsType[*dataset.InvalidError](err); !invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
