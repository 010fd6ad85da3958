package github_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// These tests play a GitHub whose lists lag, which loses replies, hangs or has another time.
// Time is that of testing/synctest or of the injected clock: nothing waits.

// lagging is a fake whose lists are behind by the clock of the client.
func lagging(t *testing.T, c *clock, lag time.Duration) *githubtest.Server {
	t.Helper()
	s := fake(t)
	s.Now, s.Lag = c.Now, lag
	return s
}

// TestLostReplyWhileTheListLags: neither comment nor check run nor issue is there twice.
func TestLostReplyWhileTheListLags(t *testing.T) {
	for _, lag := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		for _, op := range []string{"POST comments", "POST check", "POST issues"} {
			for name, lost := range map[string][]githubtest.Fault{
				"reply": {githubtest.LoseReply}, "answered 502": {{Status: 502, Done: true}}, "request": {githubtest.LoseRequest},
				"request, then reply": {githubtest.LoseRequest, githubtest.LoseReply},
			} {
				c := newClock()
				s := lagging(t, c, lag)
				s.Fail(op, lost...)
				p := publisher(t, s, c, pullRequest(), everything())
				w := p.Start(t.Context())
				w = append(w, p.Finish(t.Context(), document(result.Regression, 1)).Warnings...)
				k := tracker(t, s)
				k.Clock = c
				w = append(w, k.Sync(t.Context(), nights(t, -1, append(times(0.4, 20), times(0.5, 4)...)...)).Warnings...)
				if len(w) > 0 || len(mine(s)) != 1 || len(s.Checks()) != 1 || len(s.Issues()) != 1 || s.Checks()[0].Conclusion != "failure" {
					t.Errorf("%s of %s, lag %v: %d comments, %d checks, %d issues, warnings %q", name, op, lag, len(mine(s)), len(s.Checks()),
						len(s.Issues()), w)
				}
			}
		}
	}
}

// TestDuplicatesAreMerged: where the list lags for longer than anybody waits before the
// second try, what is there twice is put in order before the run ends.
func TestDuplicatesAreMerged(t *testing.T) {
	c := newClock()
	s := lagging(t, c, 12*time.Second)
	s.Fail("POST comments", githubtest.LoseReply)
	s.Fail("POST check", githubtest.LoseReply)
	p := publisher(t, s, c, pullRequest(), everything())
	w := p.Start(t.Context())
	w = append(w, p.Finish(t.Context(), document(result.Regression, 1)).Warnings...)
	one(t, s)
	verdicts := 0
	for _, k := range s.Checks() {
		if k.Status != "completed" {
			t.Errorf("left in progress: %+v", k)
		}
		if k.Name == "pipeline" {
			verdicts++
		}
	}
	if verdicts != 1 || len(w) > 0 {
		t.Errorf("%d check runs of the name, warnings %q", verdicts, w)
	}
}

// TestFaultsAtTheStart: what GitHub could not do at the start is done later, and only what
// it refuses is given up.
func TestFaultsAtTheStart(t *testing.T) {
	for name, faults := range map[string][]githubtest.Fault{
		"502 three times": {githubtest.BadGateway, githubtest.BadGateway, githubtest.BadGateway},
		"502 ten times": {githubtest.BadGateway, githubtest.BadGateway, githubtest.BadGateway, githubtest.BadGateway, githubtest.BadGateway,
			githubtest.BadGateway},
		"limited for long": {githubtest.Limited(429, 3600)},
	} {
		s, c := fake(t), newClock()
		s.Fail("POST check", faults...)
		p := publisher(t, s, c, pullRequest(), everything())
		w := p.Start(t.Context())
		for try := 0; p.Pending() && try < 3; try++ {
			w = append(w, p.Start(t.Context())...)
		}
		if k := s.Checks(); len(k) != 1 || k[0].Status != "in_progress" {
			t.Errorf("%s: %+v is not under way", name, k)
		}
		w = append(w, p.Finish(t.Context(), document(result.Regression, 1)).Warnings...)
		if k := s.Checks(); len(k) != 1 || k[0].Conclusion != "failure" || len(w) > 0 {
			t.Errorf("%s: %+v, %q", name, k, w)
		}
	}
	s := fake(t)
	s.FailAlways("POST check", githubtest.BadGateway)
	p := publisher(t, s, newClock(), pullRequest(), everything())
	p.Start(t.Context())
	s.FailAlways("POST check", githubtest.Fault{Status: 0}) // and then no connection
	if w := p.Finish(t.Context(), document(result.Pass, 1)).Warnings; len(w) != 1 {
		t.Errorf("%q", w)
	}
	s = fake(t)
	s.FailAlways("POST check", githubtest.Forbidden)
	p = publisher(t, s, newClock(), pullRequest(), everything())
	if w := p.Start(t.Context()); len(w) != 1 || p.Pending() {
		t.Errorf("refused: %q, pending %v", w, p.Pending())
	}
}

// TestHangingAPI: whatever hangs, everything that posts ends, and what does not hang is
// posted.
func TestHangingAPI(t *testing.T) {
	ops := []string{"POST graphql", "GET pull", "GET files", "GET comments", "POST comments", "POST check", "PATCH check", "POST status",
		"GET issues", "GET checks", "GET check", "GET statuses"}
	for _, hung := range append([]string{"everything"}, ops...) {
		synctest.Test(t, func(t *testing.T) {
			s := virtual()
			for _, op := range ops {
				if hung == op || hung == "everything" {
					s.FailAlways(op, githubtest.Hang)
				}
			}
			api := direct(t, s)
			p := &github.Publisher{API: api, Event: pullRequest(), Settings: everything(), ID: "x"}
			start := time.Now()
			p.Start(t.Context())
			if took := time.Since(start); took > 35*time.Second {
				t.Errorf("%s: the start took %v", hung, took)
			}
			start = time.Now()
			posted := p.Finish(t.Context(), document(result.Regression, 2))
			if took := time.Since(start); took > github.MaxFinish+time.Second {
				t.Errorf("%s: the end took %v", hung, took)
			}
			if hung == "everything" && len(posted.Warnings) != 3 {
				t.Errorf("%q", posted.Warnings)
			}
			if (hung == "POST check" || hung == "PATCH check") && (len(mine(s)) != 1 || len(posted.Warnings) != 1) {
				t.Errorf("%s takes the comment with it: %q", hung, posted.Warnings)
			}
			start = time.Now()
			k := &github.Tracker{API: api}
			k.Sync(t.Context(), nights(t, -1, append(times(0.4, 20), times(0.5, 4)...)...))
			if took := time.Since(start); took > 6*time.Minute {
				t.Errorf("%s: the issues took %v", hung, took)
			}
		})
	}
}

// virtual is a fake for virtual time.
func virtual() *githubtest.Server {
	s := githubtest.NewVirtual()
	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "o/r", HeadBranch: "fix"})
	return s
}

// direct reaches a fake without a network.
func direct(t *testing.T, s *githubtest.Server) *github.Client {
	t.Helper()
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestSkewedClock: the times in GitHub's answers are meant by its own clock.
func TestSkewedClock(t *testing.T) {
	for _, skew := range []time.Duration{-26 * time.Hour, -time.Hour, -time.Minute, 0, time.Minute, time.Hour} {
		for name, header := range map[string]func(now time.Time) map[string]string{
			"reset": func(now time.Time) map[string]string {
				return map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(now.Add(30 * time.Second).Unix())}
			},
			"date": func(now time.Time) map[string]string {
				return map[string]string{"Retry-After": now.Add(30 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
			},
		} {
			s, c := fake(t), newClock()
			s.Now = func() time.Time { return c.Now().Add(skew) }
			s.Fail("POST comments", githubtest.Fault{Status: 403, Message: "API rate limit exceeded", Header: header(s.Now())})
			w := publisher(t, s, c, pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
				document(result.Pass, 1)).Warnings
			if len(w) > 0 || c.slept() < 29*time.Second || c.slept() > 32*time.Second {
				t.Errorf("%s, skew %v: slept %v, %q", name, skew, c.slept(), w)
			}
			one(t, s)
		}
	}
}

// TestThousandsOfComments: one of six thousand is found and edited.
func TestThousandsOfComments(t *testing.T) {
	s := fake(t)
	post := func() {
		if w := publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
			document(result.Pass, 1)).Warnings; len(w) > 0 {
			t.Errorf("%q", w)
		}
	}
	for range 2600 {
		s.AddComment(7, "someone", "LGTM")
	}
	post()
	for range 3400 {
		s.AddComment(7, "someone", "LGTM")
	}
	post()
	one(t, s)
}

// TestWithoutGraphQL: a user and an app find their own comment and their own issue, and take
// no other's.
func TestWithoutGraphQL(t *testing.T) {
	for _, viewer := range []string{githubtest.Bot, "perf-user", "perf-app[bot]"} {
		s := fake(t)
		s.Viewer, s.NoGraphQL = viewer, true
		spoof := ""
		for range 3 {
			publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
			if spoof == "" {
				spoof = strings.Replace(one(t, s).Body, "run=8123.1", "run=999999.9", 1)
				s.AddComment(7, "mallory", spoof)
			}
			sync1(t, s, nights(t, -1, append(times(0.4, 20), times(0.5, 4)...)...))
		}
		one(t, s)
		oneIssue(t, s)
		if c := s.Comments(); len(c) != 2 || c[1].Body != spoof {
			t.Errorf("%s: %d comments", viewer, len(c))
		}
	}
}

// TestRepeatedPatchDoesNotDoubleAnnotations: GitHub adds what is sent to what is there.
func TestRepeatedPatchDoesNotDoubleAnnotations(t *testing.T) {
	for name, faults := range map[string][]githubtest.Fault{
		"reply lost": {githubtest.LoseReply, githubtest.LoseReply}, "request lost": {githubtest.LoseRequest, githubtest.LoseRequest},
		"502 after the verdict": {{Status: 502, Done: true}, {Status: 502, Done: true}, githubtest.BadGateway},
	} {
		for gates := range map[int]bool{1: true, 49: true, 50: true, 120: true} {
			s, c := fake(t), newClock()
			p := publisher(t, s, c, pullRequest(), github.Settings{Check: "pipeline"})
			p.Start(t.Context())
			s.Fail("PATCH check", faults...)
			w := p.Finish(t.Context(), document(result.Regression, gates)).Warnings
			k := s.Checks()
			if len(k) != 1 || len(k[0].Annotations) != gates || len(w) > 0 {
				t.Errorf("%s: %d annotations, want %d; %q", name, len(k[0].Annotations), gates, w)
			}
		}
	}
}

// TestAbandonedStatus: a status that a killed run has left pending is ended, and one that
// has its verdict, or is another run's, stays.
func TestAbandonedStatus(t *testing.T) {
	s := fake(t)
	p := publisher(t, s, newClock(), pullRequest(), everything())
	p.Start(t.Context())
	publisher(t, s, newClock(), pullRequest(), everything()).Abandon(t.Context())
	if st := s.Statuses(); len(st) != 2 || st[1].State != "error" || s.Checks()[0].Conclusion != "cancelled" {
		t.Errorf("%+v", st)
	}
	p.Finish(t.Context(), document(result.Pass, 1))
	publisher(t, s, newClock(), pullRequest(), everything()).Abandon(t.Context())
	newer := pullRequest()
	newer.Run.ID++
	publisher(t, s, newClock(), newer, everything()).Start(t.Context())
	publisher(t, s, newClock(), pullRequest(), everything()).Abandon(t.Context())
	if st := s.Statuses(); len(st) != 4 || st[3].State != "pending" {
		t.Errorf("%+v", st)
	}
}

func leg(t *testing.T, job, matrix string) github.Leg {
	t.Helper()
	l, err := note.NewLeg(job, matrix)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// post posts the result of a leg as a run of its own.
func post(t *testing.T, s *githubtest.Server, c *clock, e github.Event, l github.Leg, session string, v result.Verdict) github.Posted {
	t.Helper()
	set := everything()
	set.Leg = l
	p := publisher(t, s, c, e, set)
	p.Start(t.Context())
	doc := document(v, 1)
	doc.RunID = session
	return p.Finish(t.Context(), doc)
}

// TestMatrix: the legs of a matrix have one comment, the red one first, and each a check run
// and a status; a leg that runs again takes its own place and no other.
func TestMatrix(t *testing.T) {
	s, e := fake(t), pullRequest()
	h100, h200, b200 := leg(t, "gate", `{"gpu":"h100"}`), leg(t, "gate", `{"gpu":"h200"}`), leg(t, "gate", `{"gpu":"b200","tp":2}`)
	post(t, s, newClock(), e, h200, "a", result.Regression)
	post(t, s, newClock(), e, h100, "b", result.Pass)
	post(t, s, newClock(), e, b200, "c", result.Inconclusive)
	text := one(t, s).Body
	contains(t, text, "1 of 3 jobs failed, 1 not decided, 1 passed", "regressed — `perf/gate.hcl` — `gpu=h200`",
		"`gpu=b200 tp=2`", "`gpu=h100`")
	if red, green := strings.Index(text, "`gpu=h200`"), strings.Index(text, "`gpu=h100`"); red > green ||
		strings.Index(text, "`gpu=b200 tp=2`") > green {
		t.Errorf("the red leg is not first:\n%s", text)
	}
	names := map[string]bool{}
	for _, k := range s.Checks() {
		names[k.Name+" "+k.Conclusion] = true
	}
	for _, st := range s.Statuses() {
		names[st.Context] = true
	}
	for _, want := range []string{"pipeline (gpu=h200) failure", "pipeline (gpu=h100) success", "pipeline (gpu=b200 tp=2) neutral",
		"pipeline/perf (gpu=h100)", "pipeline/perf (gpu=h200)"} {
		if !names[want] {
			t.Errorf("%q is not in %v", want, names)
		}
	}
	// The failed legs alone run again.
	e.Run.Attempt = 2
	post(t, s, newClock(), e, h200, "d", result.Pass)
	text = one(t, s).Body
	contains(t, text, "run=8123.2", "1 of 3 jobs not decided, 2 passed")
	if strings.Contains(text, "regressed") {
		t.Error("the first attempt's result stands beside the second's")
	}
	// What comes late of the first attempt is not believed.
	e.Run.Attempt = 1
	if got := post(t, s, newClock(), e, h200, "a", result.Regression); len(got.Notes) != 1 || one(t, s).Body != text {
		t.Errorf("%+v", got)
	}
	// Another run begins anew.
	e.Run.ID++
	post(t, s, newClock(), e, h100, "e", result.Pass)
	if strings.Contains(one(t, s).Body, "jobs") {
		t.Error("the legs of an earlier run are still there")
	}
}

// TestTwoMeasurementsOfOneJob: a job without a matrix that measures one file twice, or two
// jobs that measure the same, have one comment that shows both.
func TestTwoMeasurementsOfOneJob(t *testing.T) {
	for name, legs := range map[string][2]github.Leg{
		"one job": {leg(t, "gate", "null"), leg(t, "gate", "null")}, "two jobs": {leg(t, "a", ""), leg(t, "b", "")}, "no job": {},
	} {
		for _, second := range []result.Verdict{result.Pass, result.Regression} {
			s := fake(t)
			first := map[result.Verdict]result.Verdict{result.Pass: result.Regression, result.Regression: result.Pass}[second]
			post(t, s, newClock(), pullRequest(), legs[0], "a", first)
			post(t, s, newClock(), pullRequest(), legs[1], "b", second)
			text := one(t, s).Body
			contains(t, text, "1 of 2 jobs failed, 1 passed", "1 gate regressed", "1 gate passed")
			if w := post(t, s, newClock(), pullRequest(), legs[1], "b", second); len(w.Warnings)+len(w.Notes) > 0 {
				t.Errorf("%s: %+v", name, w)
			}
			contains(t, one(t, s).Body, "1 of 2 jobs failed, 1 passed")
		}
	}
}

// TestLegsAtOnce: legs that end together look before any of them writes, and write over each
// other. All are in the one comment in the end, however long each request takes.
func TestLegsAtOnce(t *testing.T) {
	const legs = 5
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			s := virtual()
			rng := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			s.Before = func(string) {
				mu.Lock()
				d := time.Duration(rng.Int64N(int64(900 * time.Millisecond)))
				mu.Unlock()
				time.Sleep(d)
			}
			finish := func(gpu string, v result.Verdict) {
				p := &github.Publisher{API: direct(t, s), Event: pullRequest(), Settings: github.Settings{Comment: publish.CommentUpdate,
					Leg: leg(t, "gate", `{"gpu":"`+gpu+`"}`)}}
				doc := document(v, 1)
				doc.RunID = gpu
				if w := p.Finish(t.Context(), doc).Warnings; len(w) > 0 {
					t.Errorf("seed %d: %q", seed, w)
				}
			}
			if seed%2 == 0 {
				finish("first", result.Pass)
			}
			var wg sync.WaitGroup
			for i := range legs {
				v := result.Pass
				if i == 2 {
					v = result.Regression
				}
				wg.Go(func() { finish(fmt.Sprintf("g%d", i), v) })
			}
			wg.Wait()
			s.Before = nil
			text := one(t, s).Body
			for i := range legs {
				contains(t, text, fmt.Sprintf("`gpu=g%d`", i))
			}
			contains(t, text, fmt.Sprintf("1 of %d jobs failed", legs+1-int(seed%2)))
		})
	}
}

// TestRunsAtOnceWhileTheListLags: two runs of one pull request create their comment at about the same time, and lists are
// behind. One comment is left, that of the newer run.
func TestRunsAtOnceWhileTheListLags(t *testing.T) {
	seed := uint64(0)
	for _, lag := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		for _, latency := range []time.Duration{0, 900 * time.Millisecond} {
			for newerFirst := -6 * time.Second; newerFirst <= 6*time.Second; newerFirst += 500 * time.Millisecond {
				seed++
				synctest.Test(t, func(t *testing.T) {
					s := virtual()
					s.Lag = lag
					rng := rand.New(rand.NewPCG(seed, 2))
					var mu sync.Mutex
					s.Before = func(string) {
						mu.Lock()
						d := time.Duration(rng.Int64N(int64(latency) + 1))
						mu.Unlock()
						time.Sleep(d)
					}
					finish := func(id int64, v result.Verdict, after time.Duration) {
						time.Sleep(max(after, 0))
						e := pullRequest()
						e.Run.ID = id
						p := &github.Publisher{API: direct(t, s), Event: e, Settings: github.Settings{Comment: publish.CommentUpdate}}
						if w := p.Finish(t.Context(), document(v, 1)).Warnings; len(w) > 0 {
							t.Errorf("run %d: %q", id, w)
						}
					}
					var wg sync.WaitGroup
					wg.Go(func() { finish(1, result.Pass, newerFirst) })
					wg.Go(func() { finish(2, result.Regression, -newerFirst) })
					wg.Wait()
					if own := mine(s); len(own) != 1 || !strings.Contains(own[0].Body, "run=2.1") {
						t.Errorf("lag %v, latency up to %v, newer run %v before the older one: %d comments", lag, latency, newerFirst, len(own))
					}
				})
			}
		}
	}
}

// TestManyLegsFit: forty legs of large reports stay within the limit, and no verdict is lost.
func TestManyLegsFit(t *testing.T) {
	s := fake(t)
	for i := range 40 {
		v := result.Pass
		if i%13 == 0 {
			v = result.Regression
		}
		set := github.Settings{Comment: publish.CommentUpdate, Leg: leg(t, "gate", fmt.Sprintf(`{"gpu":"g%02d"}`, i))}
		doc := document(v, 30)
		doc.RunID = fmt.Sprint(i)
		if w := publisher(t, s, newClock(), pullRequest(), set).Finish(t.Context(), doc).Warnings; len(w) > 0 {
			t.Fatalf("%q", w)
		}
	}
	text := one(t, s).Body
	if len(text) > 60_000 {
		t.Errorf("%d bytes", len(text))
	}
	contains(t, text, "4 of 40 jobs failed, 36 passed")
	for i := range 40 {
		contains(t, text, fmt.Sprintf("`gpu=g%02d`", i))
	}
	if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("a section is not closed")
	}
}

// TestForgedSections: text of another author that looks like a mark is ignored.
func TestForgedSections(t *testing.T) {
	s := fake(t)
	forged := "<!-- pipeline:leg v1 leg= label= session=0348d111a7b65368 attempt=9 rank=2 -->"
	doc := document(result.Regression, 1)
	doc.RunID = "other"
	doc.Title = forged
	doc.Launches = []result.Launch{{ID: "r1", Repeat: 1, Target: "server.vllm.sut", Failure: &result.Failure{Phase: "ready", Class: "crash",
		LogTail: []string{"<!-- pipeline:end -->", forged, "### ✅ fine", "<!-- pipeline:rest -->"}}}}
	for range 2 {
		publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), doc)
	}
	post(t, s, newClock(), pullRequest(), github.Leg{}, "b", result.Pass)
	contains(t, one(t, s).Body, "1 of 2 jobs failed, 1 passed")
}
