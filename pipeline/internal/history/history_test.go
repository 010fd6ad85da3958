package history_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

var start = time.Date(2026, 8, 1, 3, 0, 0, 0, time.UTC)

var machine = map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100", "arch": "amd64", "driver": "580"}

// session is one night's record.
func session(night int, ttft float64) history.Record {
	return history.Record{
		ID: fmt.Sprintf("run-%03d", night), Kind: history.Session, Time: start.Add(time.Duration(night) * 24 * time.Hour),
		Source: history.Source{Commit: fmt.Sprintf("c%d", night), Branch: "main"}, Machine: machine,
		Cells: []history.Cell{{Benchmark: "benchmark.b", Hash: "h", Label: "rate=4", Model: "m", Runs: 5, Sent: 100,
			Metrics: map[string]float64{"ttft.p50": ttft}}},
	}
}

func add(tb testing.TB, s history.Store, records ...history.Record) {
	tb.Helper()
	for _, r := range records {
		if _, err := history.Add(tb.Context(), s, r); err != nil {
			tb.Fatal(err)
		}
	}
}

func load(tb testing.TB, s history.Store) *history.History {
	tb.Helper()
	h, err := history.Load(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func open(tb testing.TB, location string) history.Store {
	tb.Helper()
	sp := spawn.New(spawn.Options{Environ: os.Environ()})
	tb.Cleanup(sp.Close)
	s, err := history.Open(tb.Context(), location, history.Options{Spawner: sp, Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// runGit runs a command of the test itself.
func runGit(tb testing.TB, args ...string) string {
	tb.Helper()
	sp := spawn.New(spawn.Options{Environ: os.Environ()})
	defer sp.Close()
	repo := git.Repo{Spawner: sp, Dir: ".", Env: []steps.EnvVar{
		{Name: "GIT_AUTHOR_NAME", Value: "a"}, {Name: "GIT_AUTHOR_EMAIL", Value: "a@localhost"},
		{Name: "GIT_COMMITTER_NAME", Value: "a"}, {Name: "GIT_COMMITTER_EMAIL", Value: "a@localhost"},
	}}
	out, err := repo.Run(tb.Context(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

// bare makes an empty repository that others push to.
func bare(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "origin.git")
	runGit(tb, "init", "--quiet", "--bare", path)
	return path
}

func TestStoresKeepWhatTheyAreGiven(t *testing.T) {
	for name, location := range map[string]string{"directory": t.TempDir(), "branch": "git:" + bare(t) + "#nightly"} {
		t.Run(name, func(t *testing.T) {
			s := open(t, location)
			if h := load(t, s); len(h.Records) != 0 || len(h.Quarantined) != 0 {
				t.Fatalf("a new history holds %+v", h)
			}
			want := []history.Record{session(1, 0.1), session(2, 0.2)}
			add(t, s, want[1], want[0])
			if diff := cmp.Diff(want, load(t, s).Records); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := history.Add(t.Context(), s, want[0]); !errors.Is(err, history.ErrExists) {
				t.Errorf("a record was added twice: %v", err)
			}
			if diff := cmp.Diff(want, load(t, open(t, location)).Records); diff != "" {
				t.Errorf("another process sees (-want +got):\n%s", diff)
			}
		})
	}
}

// Ten writers, each with a repository of its own, push to one branch at once.
func TestConcurrentWritersLoseNothing(t *testing.T) {
	for name, location := range map[string]string{"directory": t.TempDir(), "branch": "git:" + bare(t)} {
		t.Run(name, func(t *testing.T) {
			const writers = 5
			var wg sync.WaitGroup
			errs := make([]error, writers)
			for i := range writers {
				s := open(t, location)
				wg.Go(func() { _, errs[i] = history.Add(context.Background(), s, session(i, 0.1)) })
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if h := load(t, open(t, location)); len(h.Records) != writers || len(h.Quarantined) != 0 {
				t.Errorf("%d records, %v; want %d", len(h.Records), h.Quarantined, writers)
			}
		})
	}
}

// The branch of the history has nothing in common with the code's, and the local
// repository's branches stay as they were.
func TestTheBranchIsAnOrphan(t *testing.T) {
	path := bare(t)
	work := t.TempDir()
	runGit(t, "clone", "--quiet", path, work)
	runGit(t, "-C", work, "commit", "--quiet", "--allow-empty", "-m", "code")
	runGit(t, "-C", work, "push", "--quiet", "origin", "HEAD:refs/heads/main")
	sp := spawn.New(spawn.Options{Environ: os.Environ()})
	defer sp.Close()
	s, err := history.Open(t.Context(), "git:origin#h", history.Options{Spawner: sp, Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := runGit(t, "-C", work, "for-each-ref", "refs/heads") + runGit(t, "-C", work, "status", "--porcelain")
	add(t, s, session(1, 0.1), session(2, 0.1))
	if after := runGit(t, "-C", work, "for-each-ref", "refs/heads") + runGit(t, "-C", work, "status", "--porcelain"); after != before {
		t.Errorf("the local repository changed from\n%s to\n%s", before, after)
	}
	if n := strings.Count(runGit(t, "-C", path, "rev-list", "h"), "\n"); n != 2 {
		t.Errorf("the branch has %d commits, want the 2 of its records", n)
	}
}

func TestDamagedRecordsAreQuarantined(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, session(1, 0.1), session(2, 0.2))
	records, good := filepath.Join(dir, "records"), fileOf(t, session(3, 0.3))
	for name, content := range map[string]string{
		"truncated.json": good[:len(good)/2],
		"altered.json":   strings.Replace(good, "0.3", "0.1", 1),
		"empty.json":     "",
		"other.json":     `{"schema":"pipeline/history/9.0"}`,
		"twice.json":     fileOf(t, session(2, 0.5)),
	} {
		if err := os.WriteFile(filepath.Join(records, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(records, "link.json")); err != nil {
		t.Fatal(err)
	}
	h := load(t, s)
	if len(h.Records) != 2 {
		t.Errorf("%d records are read, want the 2 good ones", len(h.Records))
	}
	if len(h.Quarantined) != 6 {
		t.Errorf("quarantined: %+v, want 6", h.Quarantined)
	}
	for _, q := range h.Quarantined {
		if q.Name == "" || q.Reason == "" {
			t.Errorf("%+v lacks a name or a reason", q)
		}
	}
}

// fileOf returns the content of the file of a record.
func fileOf(tb testing.TB, r history.Record) string {
	tb.Helper()
	dir := tb.TempDir()
	add(tb, open(tb, dir), r)
	files, err := filepath.Glob(filepath.Join(dir, "records", "*.json"))
	if err != nil || len(files) != 1 {
		tb.Fatalf("%q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestWindow(t *testing.T) {
	h := &history.History{}
	for night := range 14 {
		h.Records = append(h.Records, session(night, 0.1))
	}
	change := func(night int, edit func(*history.Record)) {
		r := session(100+night, 0.9)
		edit(&r)
		h.Records = append(h.Records, r)
	}
	change(1, func(r *history.Record) { r.Source.Branch = "topic" })
	change(2, func(r *history.Record) { r.Simulated = "process" })
	change(3, func(r *history.Record) {
		r.Machine = map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA A10", "arch": "amd64"}
	})
	change(4, func(r *history.Record) { r.Cells[0].Model = "other" })
	change(5, func(r *history.Record) { r.Cells[0].Hash = "another cell" })
	change(6, func(*history.Record) {})
	h.Records = append(h.Records, history.Record{ID: "d", Kind: history.Drop, Time: start, Annotation: &history.Annotation{Run: "run-106",
		Reason: "someone else used the GPU", Author: "a"}})
	q := history.Query{Cell: "h", Metric: "ttft.p50", Branch: "main", Machine: machine, Model: "m", Sessions: 10,
		Now: start.Add(1000 * time.Hour)}
	w := h.Window(q)
	if len(w.Points) != 10 || w.Points[9].ID != "run-013" {
		t.Errorf("%d points, the last %+v", len(w.Points), w.Points[len(w.Points)-1])
	}
	want := "left out: 1 of another branch, 1 not like this one (simulation: then process, now none), " +
		"1 not like this one (machine's gpu_name: then NVIDIA A10, now NVIDIA H100), 1 of other work (model: then other, now m), 1 dropped"
	if w.Note != want {
		t.Errorf("note %q, want %q", w.Note, want)
	}

	q.Match = []string{"driver"}
	q.Machine = map[string]string{"gpu_count": "1", "gpu_name": "NVIDIA H100", "arch": "amd64", "driver": "590"}
	if w := h.Window(q); len(w.Points) != 0 || !strings.Contains(w.Note, "another driver") {
		t.Errorf("%d points with another driver, %q", len(w.Points), w.Note)
	}
	q.Match = nil
	if w := h.Window(q); len(w.Points) != 10 {
		t.Errorf("%d points: the driver is soft", len(w.Points))
	}

	// What is accepted moves the baseline, until it expires.
	accepted := history.Record{ID: "a", Kind: history.Acceptance, Time: start, Annotation: &history.Annotation{
		Run: "run-011", Reason: "new attention kernel", Author: "a", Measured: session(11, 0).Time, Expires: q.Now,
	}}
	h.Records = append(h.Records, accepted)
	if w := h.Window(q); len(w.Points) != 3 || !strings.Contains(w.Note, "from before run-011, which was accepted") {
		t.Errorf("%d points after an acceptance, %q", len(w.Points), w.Note)
	}
	q.Now = q.Now.Add(time.Second)
	if w := h.Window(q); len(w.Points) != 10 {
		t.Errorf("%d points after the acceptance expired", len(w.Points))
	}
	q.Now = start
	q.Metric = "itl.p50"
	if w := h.Window(q); len(w.Points) != 0 {
		t.Errorf("%d points of a metric that nobody measured", len(w.Points))
	}
}

func TestFromDocument(t *testing.T) {
	doc := &result.Document{
		RunID: "r", Started: start, Status: result.StatusComplete, Simulated: "process", TimeScale: 10, Machine: machine,
		Targets: []result.Target{{Addr: "server.vllm.sut", Engine: "vllm", Model: "m"}},
		Benchmarks: []result.Benchmark{{Addr: "benchmark.b", Cells: []result.Cell{
			{Hash: "h", Target: "server.vllm.sut", Values: []result.AxisValue{{Name: "rate", Value: "4"}},
				Summary: map[string]float64{"ttft.p50": 0.1}, Runs: []result.Run{
					{Repeat: 1, Status: result.RunOK, Sent: 100, Failed: 1}, {Repeat: 2, Status: result.RunVoid, Sent: 7},
					{Repeat: 3, Replaces: 2, Status: result.RunOK, Sent: 100},
				}},
			{Hash: "never ran", Target: "server.vllm.sut"},
		}}},
	}
	r, err := history.FromDocument(doc, history.Source{Commit: "c"})
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Cell{{Benchmark: "benchmark.b", Hash: "h", Label: "rate=4", Engine: "vllm", Model: "m", Runs: 2, Sent: 200, Failed: 1,
		Metrics: map[string]float64{"ttft.p50": 0.1},
		Work:    &comparability.Work{Facts: comparability.Facts{"engine": "vllm"}, Prompts: map[string]int{}}}}
	if diff := cmp.Diff(want, r.Cells); diff != "" || r.Simulated != "process×10" {
		t.Errorf("simulated %q, cells (-want +got):\n%s", r.Simulated, diff)
	}
	for what, spoil := range map[string]func(*result.Document){
		"interrupted": func(d *result.Document) { d.Status = result.StatusInterrupted },
		"no id":       func(d *result.Document) { d.RunID = "" },
		"no run":      func(d *result.Document) { d.Benchmarks = nil },
	} {
		bad := *doc
		spoil(&bad)
		if _, err := history.FromDocument(&bad, history.Source{}); err == nil {
			t.Errorf("%s: became a record", what)
		}
	}
}

// deaf is a spawner that carries out a push and loses its answer, as often as lost says.
type deaf struct {
	steps.Spawner
	lost int
}

func (d *deaf) Spawn(ctx context.Context, c steps.Command) (steps.Child, error) {
	child, err := d.Spawner.Spawn(ctx, c)
	if err == nil && slices.Contains(c.Argv, "push") && d.lost > 0 {
		d.lost--
		return unanswered{child}, nil
	}
	return child, err
}

type unanswered struct{ steps.Child }

func (u unanswered) Wait() error {
	if err := u.Child.Wait(); err != nil {
		return err
	}
	return errors.New("the remote end hung up unexpectedly")
}

func TestPushWhoseAnswerIsLost(t *testing.T) {
	sp := spawn.New(spawn.Options{Environ: os.Environ()})
	t.Cleanup(sp.Close)
	s, err := history.Open(t.Context(), "git:"+bare(t), history.Options{Spawner: &deaf{sp, 2}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	want := []history.Record{session(1, 0.1), session(2, 0.2)}
	add(t, s, want...)
	if diff := cmp.Diff(want, load(t, s).Records); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := history.Add(t.Context(), s, session(1, 0.3)); !errors.Is(err, history.ErrExists) {
		t.Errorf("another record of the same name was added: %v", err)
	}
}
