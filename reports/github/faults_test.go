package github_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/github/githubtest"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
)

// TestFaults: whatever GitHub does, there is at most one comment and it holds the verdict,
// and what could not be done is one warning each that says what to do.
func TestFaults(t *testing.T) {
	const lines = "add `pull-requests: write` to `permissions:`"
	for name, tt := range map[string]struct {
		faults   map[string][]githubtest.Fault
		always   map[string]githubtest.Fault
		comments int
		check    string // conclusion
		warnings []string
		slept    time.Duration // at most
	}{
		"reply of the comment lost": {
			faults: map[string][]githubtest.Fault{"POST comments": {githubtest.LoseReply}}, comments: 1, check: "failure", slept: 3 * time.Second,
		},
		"request of the comment lost": {
			faults: map[string][]githubtest.Fault{"POST comments": {githubtest.LoseRequest}}, comments: 1, check: "failure", slept: 9 * time.Second,
		},
		"every reply of the comment lost": {
			always: map[string]githubtest.Fault{"POST comments": githubtest.LoseReply}, comments: 1, check: "failure", slept: 3 * time.Second,
		},
		"comment done, answered 502": {
			faults: map[string][]githubtest.Fault{"POST comments": {{Status: 502, Done: true}}}, comments: 1, check: "failure",
			slept: 3 * time.Second,
		},
		"reply of the check lost": {
			faults: map[string][]githubtest.Fault{"POST check": {githubtest.LoseReply}}, comments: 1, check: "failure", slept: 3 * time.Second,
		},
		"reply of the check's end lost": {
			faults: map[string][]githubtest.Fault{"PATCH check": {githubtest.LoseReply, githubtest.LoseRequest}}, comments: 1, check: "failure",
			slept: 3 * time.Second,
		},
		"comment forbidden": {
			always:   map[string]githubtest.Fault{"POST comments": githubtest.Forbidden},
			comments: 0, check: "failure", warnings: []string{lines},
		},
		"comment not found": {
			always:   map[string]githubtest.Fault{"POST comments": githubtest.NotFound},
			comments: 0, check: "failure", warnings: []string{lines},
		},
		"check forbidden": {
			always:   map[string]githubtest.Fault{"POST check": githubtest.Forbidden},
			comments: 1, warnings: []string{"add `checks: write`"},
		},
		"status forbidden": {
			always:   map[string]githubtest.Fault{"POST status": githubtest.Forbidden},
			comments: 1, check: "failure", warnings: []string{"add `statuses: write`"},
		},
		"status not accepted": {
			always:   map[string]githubtest.Fault{"POST status": {Status: 422, Message: "Validation Failed"}},
			comments: 1, check: "failure", warnings: []string{"422"},
		},
		"no token any more": {
			always:   map[string]githubtest.Fault{"POST comments": {Status: 401, Message: "Bad credentials"}},
			comments: 0, check: "failure", warnings: []string{"the token is not valid"},
		},
		"secondary limit with a time": {
			faults:   map[string][]githubtest.Fault{"POST comments": {githubtest.Limited(403, 60)}, "POST check": {githubtest.Limited(429, 20)}},
			comments: 1, check: "failure", slept: 80 * time.Second,
		},
		"limit without a time": {
			faults: map[string][]githubtest.Fault{"GET comments": {{Status: 429},
				{Status: 403, Message: "You have exceeded a secondary rate limit."}}},
			comments: 1, check: "failure", slept: 3 * time.Second,
		},
		"primary limit, reset soon": {
			faults: map[string][]githubtest.Fault{"POST comments": {{Status: 403, Message: "API rate limit exceeded", Header: map[string]string{
				"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795262430", // 30 s after the clock's start
			}}}},
			comments: 1, check: "failure", slept: 31 * time.Second,
		},
		"limit for longer than anyone waits": {
			always:   map[string]githubtest.Fault{"POST comments": githubtest.Limited(429, 3600)},
			comments: 0, check: "failure", warnings: []string{"too many requests"},
		},
		"limits without end": {
			always:   map[string]githubtest.Fault{"POST comments": githubtest.Limited(429, 50)},
			comments: 0, check: "failure", warnings: []string{"too many requests"}, slept: 3 * time.Minute,
		},
		"a few 5xx": {
			faults: map[string][]githubtest.Fault{
				"GET comments": {githubtest.BadGateway, githubtest.BadGateway}, "POST comments": {githubtest.BadGateway},
				"PATCH check": {githubtest.BadGateway},
			},
			comments: 1, check: "failure", slept: 13 * time.Second,
		},
		"5xx without end": {
			always:   map[string]githubtest.Fault{"GET comments": githubtest.BadGateway},
			comments: 0, check: "failure", warnings: []string{"502"}, slept: 15 * time.Second,
		},
		"nobody says who writes": {
			always: map[string]githubtest.Fault{"POST graphql": githubtest.NotFound}, comments: 1, check: "failure",
		},
		"nobody says what changed": {
			always: map[string]githubtest.Fault{"GET files": githubtest.Forbidden, "GET pull": githubtest.Forbidden}, comments: 1, check: "failure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := fake(t), newClock()
			for op, list := range tt.faults {
				s.Fail(op, list...)
			}
			for op, f := range tt.always {
				s.FailAlways(op, f)
			}
			p := publisher(t, s, c, pullRequest(), everything())
			warnings := p.Start(t.Context())
			warnings = append(warnings, p.Finish(t.Context(), document(result.Regression, 1)).Warnings...)
			own := mine(s)
			if len(own) != tt.comments {
				t.Errorf("%d comments, want %d", len(own), tt.comments)
			}
			for _, one := range own {
				contains(t, one.Body, "1 gate regressed")
			}
			k := s.Checks()
			switch {
			case tt.check == "" && len(k) > 0, tt.check != "" && (len(k) != 1 || k[0].Conclusion != tt.check):
				t.Errorf("checks %+v, want %q", k, tt.check)
			}
			if len(warnings) != len(tt.warnings) {
				t.Fatalf("warnings %q, want %d", warnings, len(tt.warnings))
			}
			for i, w := range tt.warnings {
				contains(t, warnings[i], w)
			}
			if c.slept() > tt.slept {
				t.Errorf("slept %v, at most %v expected", c.slept(), tt.slept)
			}
		})
	}
}

// TestRetryAfterIsHonoured: what GitHub asks for is waited, neither less nor much more.
func TestRetryAfterIsHonoured(t *testing.T) {
	s, c := fake(t), newClock()
	s.Fail("POST comments", githubtest.Limited(429, 42))
	publisher(t, s, c, pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
	if c.slept() != 42*time.Second {
		t.Errorf("slept %v", c.slept())
	}
	one(t, s)
}

// TestDead: without any GitHub at all there are warnings, and an end.
func TestDead(t *testing.T) {
	s, c := fake(t), newClock()
	p := publisher(t, s, c, pullRequest(), everything())
	s.Close()
	warnings := p.Start(t.Context())
	warnings = append(warnings, p.Finish(t.Context(), document(result.Pass, 1)).Warnings...)
	if len(warnings) != 3 {
		t.Errorf("%q", warnings)
	}
	if c.slept() > 3*time.Minute {
		t.Errorf("slept %v", c.slept())
	}
}

func TestDeletedComment(t *testing.T) {
	s := fake(t)
	run := func(id int64) []string {
		e := pullRequest()
		e.Run.ID = id
		return publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
			document(result.Regression, 1)).Warnings
	}
	run(1)
	// A user deletes it between the list and the edit.
	s.Fail("PATCH comment", githubtest.NotFound)
	before := one(t, s).ID
	if w := run(2); len(w) > 0 {
		t.Errorf("%q", w)
	}
	if one(t, s).ID != before {
		t.Error("what was there on the second look was not edited")
	}
	// A comment that stays impossible to edit ends in a warning, not in a second one.
	s.FailAlways("PATCH comment", githubtest.NotFound)
	if w := run(3); len(w) != 1 {
		t.Errorf("%q", w)
	}
	one(t, s)
}

func TestLockedConversation(t *testing.T) {
	s := fake(t)
	s.Lock()
	posted := publisher(t, s, newClock(), pullRequest(), everything()).Finish(t.Context(), document(result.Regression, 1))
	if len(posted.Warnings) != 1 {
		t.Fatalf("%q", posted.Warnings)
	}
	contains(t, posted.Warnings[0], "the conversation is locked")
	if s.Checks()[0].Conclusion != "failure" {
		t.Error("the check did not follow the verdict")
	}
}

// TestSpoofedMarkers: a marker of another user is not ours, and their comment is left
// alone; nor is a marker ours that stands anywhere but at the beginning.
func TestSpoofedMarkers(t *testing.T) {
	s := fake(t)
	publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
	text := one(t, s).Body
	s = fake(t)
	newest := strings.Replace(text, "run=8123.1", "run=999999999999999999.9", 1)
	for _, author := range []string{"mallory", "github-actions", "evil[bot]"} {
		s.AddComment(7, author, newest)
	}
	s.AddComment(7, githubtest.Bot, "quoting: "+newest)
	s.AddComment(7, githubtest.Bot, strings.Replace(newest, "v1", "v2", 1))
	s.AddComment(7, githubtest.Bot, strings.Replace(newest, "run=9", "run=99999999999999999999999", 1))
	s.AddComment(7, githubtest.Bot, strings.Replace(newest, "run=9", "run=-9", 1))
	before := s.Comments()
	if w := publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentDeleteAndNew}).Finish(t.Context(),
		document(result.Regression, 1)).Warnings; len(w) > 0 {
		t.Errorf("%q", w)
	}
	after := s.Comments()
	if !slices.Equal(before, after[:len(before)]) {
		t.Error("a comment of somebody else was changed")
	}
	if len(after) != len(before)+1 {
		t.Fatalf("%d comments, want %d", len(after), len(before)+1)
	}
	contains(t, after[len(before)].Body, "1 gate regressed", "run=8123.1")
}

// TestEditedByHand: maintainers can edit the bot's comments. With its first line gone a
// comment is theirs from then on; otherwise the next run writes over what they said.
func TestEditedByHand(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(string) string
		want int
	}{
		"text changed": {func(body string) string { return strings.ReplaceAll(body, "regressed", "is fine, merge it") }, 1},
		"marker gone":  {func(body string) string { _, rest, _ := strings.Cut(body, "\n"); return rest }, 2},
		"text before":  {func(body string) string { return "Please read:\n" + body }, 2},
		"emptied":      {func(string) string { return "-" }, 2},
	} {
		s := fake(t)
		post := func(id int64) {
			e := pullRequest()
			e.Run.ID = id
			if w := publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
				document(result.Regression, 1)).Warnings; len(w) > 0 {
				t.Errorf("%s: %q", name, w)
			}
		}
		post(1)
		edited := tt.edit(one(t, s).Body)
		s.EditComment(one(t, s).ID, edited)
		post(2)
		c := s.Comments()
		if len(c) != tt.want {
			t.Fatalf("%s: %d comments, want %d", name, len(c), tt.want)
		}
		contains(t, c[len(c)-1].Body, "run=2.1", "1 gate regressed")
		if tt.want == 2 && c[0].Body != edited {
			t.Errorf("%s: what somebody wrote was changed", name)
		}
	}
}

// TestAuthorIsWhoTheTokenStandsFor: with a token of a user or an app, its own comments are
// found, and those of the bot are not.
func TestAuthorIsWhoTheTokenStandsFor(t *testing.T) {
	for _, viewer := range []string{"perf-user", "perf-app[bot]"} {
		s := fake(t)
		publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
		s.Viewer = viewer
		for range 2 {
			publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
		}
		if n := len(s.Comments()); n != 2 {
			t.Errorf("%s: %d comments, want the bot's and its own", viewer, n)
		}
	}
}

// TestOldComment: one of many pages back is found.
func TestOldComment(t *testing.T) {
	s := fake(t)
	s.Page = 10
	post := func() {
		publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(result.Pass, 1))
	}
	for range 25 {
		s.AddComment(7, "someone", "LGTM")
	}
	post()
	for range 44 {
		s.AddComment(7, "someone", "LGTM")
	}
	post()
	one(t, s)
}

// TestOutOfOrder: a run that is older than the one that has reported keeps quiet, and so
// does an earlier attempt; a later one takes the comment over.
func TestOutOfOrder(t *testing.T) {
	s := fake(t)
	for _, step := range []struct {
		run     github.Run
		verdict result.Verdict
		shows   string
		quiet   bool
	}{
		{github.Run{ID: 20, Attempt: 2}, result.Regression, "1 gate regressed", false},
		{github.Run{ID: 19, Attempt: 9}, result.Pass, "1 gate regressed", true},
		{github.Run{ID: 20, Attempt: 1}, result.Pass, "1 gate regressed", true},
		{github.Run{ID: 20, Attempt: 10}, result.Pass, "1 gate passed", false},
		{github.Run{ID: 100, Attempt: 1}, result.Inconclusive, "1 gate inconclusive", false},
	} {
		e := pullRequest()
		e.Run = step.run
		posted := publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(), document(step.verdict, 1))
		contains(t, one(t, s).Body, step.shows)
		if (len(posted.Notes) > 0) != step.quiet || len(posted.Warnings) > 0 {
			t.Errorf("%+v: %+v", step.run, posted)
		}
	}
}

// TestTwoAtOnce: two runs list before either writes. One comment is left, that of the
// newer run, whichever writes first.
func TestTwoAtOnce(t *testing.T) {
	for _, mode := range []publish.CommentMode{publish.CommentUpdate, publish.CommentDeleteAndNew} {
		s := fake(t)
		// Both wait for each other before they write.
		var met sync.WaitGroup
		met.Add(2)
		var once sync.Map
		var mu sync.Mutex
		created := 0
		s.Before = func(op string) {
			if op != "POST comments" {
				return
			}
			mu.Lock()
			created++
			n := created
			mu.Unlock()
			if _, done := once.LoadOrStore(n, true); !done && n <= 2 {
				met.Done()
				met.Wait()
			}
		}
		verdicts := map[int64]result.Verdict{1: result.Pass, 2: result.Regression}
		var wg sync.WaitGroup
		for id, v := range verdicts {
			wg.Go(func() {
				e := pullRequest()
				e.Run.ID = id
				publisher(t, s, newClock(), e, github.Settings{Comment: mode}).Finish(t.Context(), document(v, 1))
			})
		}
		wg.Wait()
		contains(t, one(t, s).Body, "1 gate regressed", "run=2.1")
	}
}

// race lets an older and a newer run edit one comment. The newer one comes when the older
// one has looked and is about to write, and gets as far as its look after the edit, or to
// its end. The comment that is left is returned.
func race(t *testing.T, toTheEnd bool) string {
	t.Helper()
	s := fake(t)
	old, head := strings.Repeat("a", 40), strings.Repeat("b", 40)
	post := func(id int64, sha string, v result.Verdict) {
		e := pullRequest()
		e.Run.ID, e.SHA = id, sha
		if w := publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
			document(v, 1)).Warnings; len(w) > 0 {
			t.Errorf("run %d: %q", id, w)
		}
	}
	post(1, old, result.Inconclusive)
	s.MoveHead(7, head)

	looks, olderDone, newerDone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var edits, lists atomic.Int32
	s.Before = func(op string) {
		switch {
		case op == "PATCH comment" && edits.Add(1) == 1: // the older run's
			lists.Store(0)
			go func() {
				defer close(newerDone)
				post(3, head, result.Regression)
			}()
			select {
			case <-looks:
			case <-newerDone:
			}
		case op == "GET comments" && lists.Add(1) == 2 && edits.Load() == 2 && !toTheEnd: // the newer run's, after its edit
			close(looks)
			<-olderDone
		}
	}
	post(2, old, result.Pass)
	close(olderDone)
	<-newerDone
	return one(t, s).Body
}

// TestOlderRunWritesOver: an older result that comes in between the edit of the newer run
// and its look afterwards does not stay.
func TestOlderRunWritesOver(t *testing.T) {
	contains(t, race(t, false), "run=3.1", "1 gate regressed")
}

// TestOlderRunWritesLast: one that comes in later says that it is old.
func TestOlderRunWritesLast(t *testing.T) {
	contains(t, race(t, true), "run=2.1", "These results are for `aaaaaaa`; the head of the pull request is `bbbbbbb` by now.")
}

// TestTooLong: a GitHub with a smaller limit gets a shorter comment, once.
func TestTooLong(t *testing.T) {
	s := fake(t)
	long := githubtest.Fault{Status: http.StatusUnprocessableEntity, Message: "Body is too long (maximum is 65536 characters)"}
	s.Fail("POST comments", long)
	doc := document(result.Regression, 3000)
	if w := publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
		doc).Warnings; len(w) > 0 {
		t.Errorf("%q", w)
	}
	if n := len(one(t, s).Body); n > 30_000 {
		t.Errorf("%d bytes", n)
	}
	s.FailAlways("PATCH comment", long)
	if w := publisher(t, s, newClock(), pullRequest(), github.Settings{Comment: publish.CommentUpdate}).Finish(t.Context(),
		document(result.Pass, 1)).Warnings; len(w) != 1 {
		t.Errorf("%q", w)
	}
}

// TestUntidy: what cannot be hidden stays, with a warning beside the new comment.
func TestUntidy(t *testing.T) {
	s := fake(t)
	s.FailAlways("POST graphql", githubtest.NotFound)
	for id := range int64(2) {
		e := pullRequest()
		e.Run.ID = id + 1
		posted := publisher(t, s, newClock(), e, github.Settings{Comment: publish.CommentHideAndNew}).Finish(t.Context(),
			document(result.Pass, 1))
		if posted.CommentURL == "" || len(posted.Warnings) != int(id) {
			t.Errorf("run %d: %+v", id, posted)
		}
	}
	if n := len(mine(s)); n != 2 {
		t.Errorf("%d comments", n)
	}
}
