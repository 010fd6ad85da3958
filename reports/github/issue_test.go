package github_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/gates/trend"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/series"
	"pgregory.net/rapid"
)

const aKey = "00000000000000aa"

// nights is a history of one series with a level for each night and 1 % of noise.
// Accepted is the night that was accepted, −1 for none.
func nights(t *testing.T, accepted int, levels ...float64) *series.History {
	t.Helper()
	return &series.History{Schema: series.Schema, Branch: "main", Sessions: len(levels),
		Trends: []series.Trend{aSeries(t, aKey, "rate=8", accepted, levels...)}}
}

func aSeries(t *testing.T, key, label string, accepted int, levels ...float64) series.Trend {
	t.Helper()
	m, _ := metric.Lookup("ttft.p99")
	rng := rand.New(rand.NewPCG(3, 4))
	p := series.Part{Machine: "1× NVIDIA H100"}
	values := make([]float64, len(levels))
	for i, l := range levels {
		values[i] = l * math.Exp(0.01*rng.NormFloat64())
		p.Points = append(p.Points, series.Point{
			Run: fmt.Sprintf("run-%03d", i), Time: time.Date(2026, 8, 1, 2, 17, 0, 0, time.UTC).AddDate(0, 0, i), Commit: fmt.Sprintf("%040x", i),
			Value: values[i],
		})
	}
	found, err := trend.Detect(m, values)
	if err == nil {
		p.Standing, err = trend.Stand(m, values, found, trend.Terms{Margin: 0.05, Accepted: accepted})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.ChangePoints {
		p.Changes = append(p.Changes, series.Change{
			Index: c.Index, State: c.State, Before: c.Before, After: c.After, Change: c.Change, Worse: c.Worse, P: c.P, Accepted: accepted >= 0 &&
				c.Index <= p.Start,
		})
	}
	if accepted >= 0 {
		p.Accepted = &series.Acceptance{ID: fmt.Sprintf("word-%d", accepted), Index: accepted, Reason: "larger KV blocks", Author: "alice"}
	}
	return series.Trend{
		Key: key, Benchmark: "benchmark.chat", Cell: "c1", Label: label, Metric: m.ID, MetricLabel: m.Label, Unit: string(m.Unit),
		Direction: string(m.Direction), Scale: string(m.Scale), Margin: 0.05, Parts: []series.Part{p},
	}
}

func times(level float64, n int) []float64 { return slices.Repeat([]float64{level}, n) }

func tracker(t *testing.T, s *githubtest.Server) *github.Tracker {
	t.Helper()
	api, err := github.NewClient(github.Options{URL: s.URL, Token: githubtest.Token, Repo: "o/r", Clock: newClock()})
	if err != nil {
		t.Fatal(err)
	}
	return &github.Tracker{API: api, Clock: newClock(), Server: "https://github.com", RunURL: "https://github.com/o/r/actions/runs/8123",
		Labels: []string{"performance"}}
}

func sync1(t *testing.T, s *githubtest.Server, h *series.History) github.Tracked {
	t.Helper()
	got := tracker(t, s).Sync(t.Context(), h)
	if len(got.Warnings) > 0 {
		t.Fatalf("%q", got.Warnings)
	}
	return got
}

// oneIssue demands that there is one issue and returns it.
func oneIssue(t *testing.T, s *githubtest.Server) githubtest.Issue {
	t.Helper()
	all := s.Issues()
	if len(all) != 1 {
		t.Fatalf("%d issues, want 1: %+v", len(all), all)
	}
	return all[0]
}

func server(t *testing.T) *githubtest.Server {
	t.Helper()
	s := githubtest.New()
	t.Cleanup(s.Close)
	return s
}

// TestIssueLife follows a series night by night: an issue when a second night confirms the
// first, no word while nothing is new, closed when it has recovered, opened again, and
// closed when it is accepted.
func TestIssueLife(t *testing.T) {
	s := server(t)
	course := slices.Concat(times(0.4, 20), times(0.5, 12), times(0.4, 25), times(0.55, 25))
	type step struct{ night, issues, comments int }
	for _, want := range []step{{20, 0, 0}, {21, 0, 0}, {22, 1, 0}, {23, 1, 0}, {32, 1, 0}, {33, 1, 0}, {34, 1, 1}, {35, 1, 1}, {57, 1, 1},
		{58, 1, 1}, {60, 1, 2}, {82, 1, 2}} {
		sync1(t, s, nights(t, -1, course[:want.night]...))
		if got := (step{want.night, len(s.Issues()), len(s.Comments())}); got != want {
			t.Fatalf("%d issues and %d comments in night %d, want %+v", got.issues, got.comments, want.night, want)
		}
		if want.issues > 0 {
			if wantClosed := want.night >= 34 && want.night < 60; oneIssue(t, s).Closed != wantClosed {
				t.Errorf("night %d: closed is %v", want.night, !wantClosed)
			}
		}
	}
	sync1(t, s, nights(t, 70, course...))
	last := oneIssue(t, s)
	if !last.Closed || len(s.Comments()) != 3 {
		t.Errorf("accepted: %+v, %d comments", last, len(s.Comments()))
	}
	contains(t, last.Body, "<!-- pipeline:issue v1 key="+aKey, "larger KV blocks")
	texts := ""
	for _, c := range s.Comments() {
		texts += c.Body
	}
	contains(t, texts, "**Recovered:**", "**Regressed again:**", "**Accepted:**", "accepted by alice")
	if last.Title != "Performance regression: TTFT p99 of chat rate=8" || !slices.Equal(last.Labels, []string{"performance"}) {
		t.Errorf("title %q, labels %q", last.Title, last.Labels)
	}
}

func regressed(t *testing.T) *series.History {
	t.Helper()
	return nights(t, -1, slices.Concat(times(0.4, 20), times(0.5, 5))...)
}

// Closed by hand it stays closed, until there is something new.
func TestIssueClosedByHand(t *testing.T) {
	s := server(t)
	sync1(t, s, regressed(t))
	s.CloseIssue(oneIssue(t, s).Number)
	sync1(t, s, regressed(t))
	sync1(t, s, nights(t, -1, slices.Concat(times(0.4, 20), times(0.5, 9))...))
	if i := oneIssue(t, s); !i.Closed || len(s.Comments()) != 0 {
		t.Errorf("%+v, %d comments", i, len(s.Comments()))
	}
}

// A marker proves nothing without its author, nor does the author without the marker.
func TestIssueOfOthers(t *testing.T) {
	s := server(t)
	sync1(t, s, regressed(t))
	body := oneIssue(t, s).Body
	s = server(t)
	s.AddIssue(githubtest.Issue{Author: "mallory", Title: "spoofed", Body: body})
	s.AddIssue(githubtest.Issue{Author: githubtest.Bot, Title: "of another workflow", Body: "It quotes\n" + body})
	s.AddIssue(githubtest.Issue{Author: githubtest.Bot, Title: "a pull request", Body: body, PullRequest: true})
	sync1(t, s, regressed(t))
	all := s.Issues()
	if len(all) != 4 || all[3].Author != githubtest.Bot || all[3].Body != body {
		t.Fatalf("%+v", all)
	}
	for _, i := range all[:3] {
		if i.Closed || strings.Contains(i.Title, "Performance") {
			t.Errorf("touched: %+v", i)
		}
	}
	// Nor does an outsider's comment keep the news back.
	recovered := nights(t, -1, slices.Concat(times(0.4, 20), times(0.5, 5), times(0.4, 4))...)
	sync1(t, s, recovered)
	told := s.Comments()[0].Body
	other := server(t)
	other.AddIssue(githubtest.Issue{Author: githubtest.Bot, Title: "x", Body: body})
	other.AddComment(other.Issues()[0].Number, "mallory", told)
	sync1(t, other, recovered)
	if c := other.Comments(); len(c) != 2 || c[1].Author != githubtest.Bot {
		t.Errorf("%+v", c)
	}
}

// The issue is found on whatever page it is.
func TestIssuePaging(t *testing.T) {
	s := server(t)
	s.Page = 10
	for i := range 35 {
		s.AddIssue(githubtest.Issue{Author: githubtest.Bot, Title: fmt.Sprint(i), Body: "text"})
	}
	sync1(t, s, regressed(t))
	sync1(t, s, regressed(t))
	if n := len(s.Issues()); n != 36 {
		t.Errorf("%d issues", n)
	}
}

// TestIssueFaults: whatever GitHub does, there is at most one issue on a series, it is
// right after the next night, and what could not be done is a warning that says what to do.
func TestIssueFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		faults  map[string][]githubtest.Fault
		always  map[string]githubtest.Fault
		issues  int
		warning string
	}{
		"reply lost":           {faults: map[string][]githubtest.Fault{"POST issues": {githubtest.LoseReply}}, issues: 1},
		"request lost":         {faults: map[string][]githubtest.Fault{"POST issues": {githubtest.LoseRequest}}, issues: 1},
		"done, answered 502":   {faults: map[string][]githubtest.Fault{"POST issues": {{Status: 502, Done: true}}}, issues: 1},
		"every reply lost":     {always: map[string]githubtest.Fault{"POST issues": githubtest.LoseReply}, issues: 1},
		"list lost after it":   {faults: map[string][]githubtest.Fault{"POST issues": {githubtest.LoseReply}, "GET issues": {}}, issues: 1},
		"a few 5xx":            {faults: map[string][]githubtest.Fault{"GET issues": {githubtest.BadGateway, githubtest.BadGateway}}, issues: 1},
		"limited":              {faults: map[string][]githubtest.Fault{"POST issues": {githubtest.Limited(403, 30)}}, issues: 1},
		"limited for too long": {always: map[string]githubtest.Fault{"POST issues": githubtest.Limited(429, 3600)}, warning: "too many requests"},
		"forbidden": {always: map[string]githubtest.Fault{"POST issues": githubtest.Forbidden},
			warning: "add `issues: write` to `permissions:`"},
		"list forbidden": {always: map[string]githubtest.Fault{"GET issues": githubtest.Forbidden},
			warning: "add `issues: write` to `permissions:`"},
		"issues are switched off": {
			always:  map[string]githubtest.Fault{"GET issues": {Status: 410, Message: "Issues are disabled for this repo"}},
			warning: "Issues are disabled",
		},
		"not accepted":  {always: map[string]githubtest.Fault{"POST issues": {Status: 422, Message: "Validation Failed"}}, warning: "422"},
		"nobody writes": {always: map[string]githubtest.Fault{"POST graphql": githubtest.NotFound}, issues: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			for op, list := range tt.faults {
				s.Fail(op, list...)
			}
			for op, f := range tt.always {
				s.FailAlways(op, f)
			}
			h := regressed(t)
			h.Trends = append(h.Trends, aSeries(t, "00000000000000bb", "rate=9", -1, times(0.4, 20)...))
			got := tracker(t, s).Sync(t.Context(), h)
			if n := len(s.Issues()); n != tt.issues {
				t.Errorf("%d issues, want %d", n, tt.issues)
			}
			switch {
			case tt.warning == "" && len(got.Warnings) > 0:
				t.Errorf("warned of %q", got.Warnings)
			case tt.warning != "" && (len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], tt.warning)):
				t.Errorf("warnings %q, want one with %q", got.Warnings, tt.warning)
			}
		})
	}
}

// News is posted once, whatever becomes of replies, and the issue is right in the end.
func TestIssueNewsOnce(t *testing.T) {
	recovered := nights(t, -1, slices.Concat(times(0.4, 20), times(0.5, 5), times(0.4, 4))...)
	for name, faults := range map[string]map[string][]githubtest.Fault{
		"reply of the comment lost":        {"POST comments": {githubtest.LoseReply}},
		"all replies of the comment lost":  {"POST comments": {githubtest.LoseReply, githubtest.LoseReply, githubtest.LoseReply}},
		"request of the comment lost":      {"POST comments": {githubtest.LoseRequest}},
		"reply of the change lost":         {"PATCH issue": {githubtest.LoseReply}},
		"comment written, change refused":  {"PATCH issue": {githubtest.Forbidden}},
		"comment written, server broken":   {"PATCH issue": slices.Repeat([]githubtest.Fault{githubtest.BadGateway}, 5)},
		"list of comments does not answer": {"GET comments": slices.Repeat([]githubtest.Fault{githubtest.BadGateway}, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			sync1(t, s, regressed(t))
			for op, list := range faults {
				s.Fail(op, list...)
			}
			tracker(t, s).Sync(t.Context(), recovered)
			sync1(t, s, recovered)
			if i := oneIssue(t, s); !i.Closed || len(s.Comments()) != 1 {
				t.Errorf("closed %v, %d comments", i.Closed, len(s.Comments()))
			}
		})
	}
}

// Two jobs at once agree on the older issue.
func TestIssueTwins(t *testing.T) {
	s := server(t)
	sync1(t, s, regressed(t))
	first := oneIssue(t, s)
	var once sync.Once
	s = server(t)
	s.Before = func(op string) {
		if op == "POST issues" {
			once.Do(func() { s.AddIssue(githubtest.Issue{Author: githubtest.Bot, Title: first.Title, Body: first.Body}) })
		}
	}
	sync1(t, s, regressed(t))
	all := s.Issues()
	if len(all) != 2 || all[0].Closed || !all[1].Closed || all[1].Reason != "not_planned" {
		t.Errorf("%+v", all)
	}
	sync1(t, s, regressed(t))
	if n := len(s.Issues()); n != 2 {
		t.Errorf("%d issues", n)
	}
}

// A change point that is not found any more is no recovery.
func TestIssueStaysWhereDetectionForgets(t *testing.T) {
	s := server(t)
	h := regressed(t)
	sync1(t, s, h)
	p := &h.Trends[0].Parts[0]
	p.Condition, p.Since, p.Changes = trend.Steady, -1, nil
	got := sync1(t, s, h)
	if i := oneIssue(t, s); i.Closed || len(got.Notes) != 1 {
		t.Errorf("%+v %q", i, got.Notes)
	}
	p.Condition = trend.Short
	sync1(t, s, h)
	p.Condition, p.Retired = trend.Regressed, true
	sync1(t, s, h)
	if i := oneIssue(t, s); i.Closed {
		t.Errorf("closed: %+v", i)
	}
}

func TestIssueDryRun(t *testing.T) {
	s := server(t)
	k := tracker(t, s)
	k.DryRun = true
	got := k.Sync(t.Context(), regressed(t))
	if len(got.Done) != 1 || got.Done[0].Action != "opened" || len(s.Issues()) != 0 {
		t.Errorf("%+v", got)
	}
	sync1(t, s, regressed(t))
	before, n := oneIssue(t, s), len(s.Requests())
	got = k.Sync(t.Context(), nights(t, -1, slices.Concat(times(0.4, 20), times(0.5, 5), times(0.4, 4))...))
	if len(got.Done) != 1 || got.Done[0].Action != "closed" || got.Done[0].Number != before.Number || oneIssue(t, s).Body != before.Body {
		t.Errorf("%+v", got)
	}
	for _, op := range s.Requests()[n:] {
		if !strings.HasPrefix(op, "GET ") && op != "POST graphql" {
			t.Errorf("a dry run asked for %s", op)
		}
	}
	k.API = nil
	if got := k.Sync(t.Context(), regressed(t)); len(got.Done) != 1 || got.Done[0].Action != "opened" {
		t.Errorf("without GitHub: %+v", got)
	}
}

// many is a history in which so many series have the same course.
func many(t *testing.T, n int, levels ...float64) *series.History {
	t.Helper()
	h := &series.History{Schema: series.Schema}
	for i := range n {
		values := slices.Clone(levels)
		for j := range values {
			if values[j] > 0.45 {
				values[j] += float64(i) / 100
			}
		}
		h.Trends = append(h.Trends, aSeries(t, fmt.Sprintf("%016x", i), fmt.Sprintf("rate=%d", i), -1, values...))
	}
	return h
}

// TestOneIssueForOneCommit: a night on which a whole matrix is slower opens one issue, the
// worst first, which lives as long as one of its series is worse.
func TestOneIssueForOneCommit(t *testing.T) {
	s := server(t)
	slow := slices.Concat(times(0.4, 20), times(0.5, 5))
	for range 2 {
		sync1(t, s, many(t, 14, slow...))
		i := oneIssue(t, s)
		if i.Closed || i.Title != "Performance regression: TTFT p99 of chat rate=13 and 13 more" || len(s.Comments()) != 0 {
			t.Fatalf("%+v, %d comments", i, len(s.Comments()))
		}
		for n := range 14 {
			contains(t, i.Body, fmt.Sprintf("rate=%d", n))
		}
	}
	// A series that joins later, for another reason, has another issue.
	more := many(t, 14, slow...)
	more.Trends = append(more.Trends, aSeries(t, "00000000000000ff", "rate=99", -1, slow...))
	sync1(t, s, more)
	if all := s.Issues(); len(all) != 2 || !strings.Contains(all[1].Title, "rate=99") {
		t.Fatalf("%+v", all)
	}
	// Some recover: a comment says so, and the issue stays. All recover: it is closed.
	back := many(t, 14, slices.Concat(slow, times(0.4, 6))...)
	some := many(t, 14, slices.Concat(slow, times(0.5, 6))...)
	copy(some.Trends[3:6], back.Trends[3:6])
	sync1(t, s, some)
	if c := s.Comments(); len(c) != 1 || strings.Count(c[0].Body, "**Recovered:**") != 3 || s.Issues()[0].Closed {
		t.Fatalf("%+v, closed %v", c, s.Issues()[0].Closed)
	}
	sync1(t, s, back)
	if c := s.Comments(); len(c) != 2 || strings.Count(c[1].Body, "**Recovered:**") != 11 || !s.Issues()[0].Closed {
		t.Fatalf("%d comments, closed %v", len(c), s.Issues()[0].Closed)
	}
	sync1(t, s, back)
	if len(s.Comments()) != 2 || len(s.Issues()) != 2 {
		t.Errorf("%d comments, %d issues", len(s.Comments()), len(s.Issues()))
	}
}

// TestIssueIsBounded: more series than an issue can name are named by the next night's.
func TestIssueIsBounded(t *testing.T) {
	s := server(t)
	h := many(t, 105, slices.Concat(times(0.4, 20), times(0.5, 5))...)
	got := sync1(t, s, h)
	if all := s.Issues(); len(all) != 1 || len(all[0].Body) > 65_000 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "5 more") {
		t.Errorf("%d issues, %q", len(all), got.Notes)
	}
	sync1(t, s, h)
	sync1(t, s, h)
	if all := s.Issues(); len(all) != 2 {
		t.Errorf("%d issues", len(all))
	}
}

// What is in a history is shown and means nothing to GitHub.
func TestIssueOfHostileHistory(t *testing.T) {
	h := regressed(t)
	payload := "x` @everyone #1 <img src=x> <!-- pipeline:issue v1 --> [y](javascript:alert(1))\n# heading "
	one := &h.Trends[0]
	one.Label, one.Model, one.Parts[0].Machine = payload, payload, payload
	for i := range one.Parts[0].Points {
		one.Parts[0].Points[i].Run, one.Parts[0].Points[i].Commit = payload, payload
	}
	s := server(t)
	sync1(t, s, h)
	i := oneIssue(t, s)
	for _, banned := range []string{"@everyone", "<img", "](javascript", "\n# heading"} {
		if strings.Contains(i.Body, banned) {
			t.Errorf("%q is in the body:\n%s", banned, i.Body)
		}
	}
	if strings.Count(i.Body, "<!--") != 1 {
		t.Errorf("a second marker: %s", i.Body)
	}
	if strings.Contains(i.Title, "\n") || len([]rune(i.Title)) > 256 {
		t.Errorf("title %q", i.Title)
	}
	one.Key = "../../x"
	if got := tracker(t, s).Sync(t.Context(), h); len(got.Warnings) != 1 {
		t.Errorf("a key that is none was taken: %+v", got)
	}
}

// Whatever the nights and the faults, there is one issue at most for a series, no state is
// announced twice, and after a night without faults an issue on a regressed series is open.
func TestIssueProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := githubtest.New()
		defer s.Close()
		values := times(0.4, 12)
		for range rapid.IntRange(1, 12).Draw(rt, "nights") {
			level := rapid.SampledFrom([]float64{0.4, 0.4, 0.41, 0.5, 0.7}).Draw(rt, "level")
			values = append(values, times(level, rapid.IntRange(1, 4).Draw(rt, "n"))...)
			for _, op := range []string{"POST issues", "PATCH issue", "POST comments", "GET comments", "GET issues"} {
				if rapid.IntRange(0, 3).Draw(rt, op) == 0 {
					s.Fail(op, rapid.SampledFrom([]githubtest.Fault{githubtest.LoseReply, githubtest.LoseRequest, githubtest.BadGateway,
						githubtest.Forbidden}).Draw(rt, "fault"))
				}
			}
			h := nights(t, -1, values...)
			tracker(t, s).Sync(t.Context(), h)
			if n := len(s.Issues()); n > 1 {
				rt.Fatalf("%d issues", n)
			}
			told := map[string]bool{}
			for _, c := range s.Comments() {
				first, _, _ := strings.Cut(c.Body, "\n")
				if told[first] {
					rt.Fatalf("%s is told of twice", first)
				}
				told[first] = true
			}
		}
		for range 6 { // the faults that were left are used up
			tracker(t, s).Sync(t.Context(), nights(t, -1, values...))
		}
		if h := nights(t, -1, values...); h.Trends[0].Condition() == trend.Regressed && (len(s.Issues()) != 1 || s.Issues()[0].Closed) {
			rt.Fatalf("regressed, and the issues are %+v", s.Issues())
		}
	})
}
