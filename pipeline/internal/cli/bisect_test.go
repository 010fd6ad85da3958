package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/bisect"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/series"
)

const (
	searchedCommits = 64
	// searches of the whole program in virtual time, and with -full.
	fewSearches, fullSearches = 1, 16
)

// searched is a file whose servers are slower from a commit on. The name of the server draws the
// noise, SD 2 % of a pair.
const searched = `
pipeline {
  bisect {
    good      = "base"
    candidate = "head"
  }
}

variable "base" {
  type    = string
  default = "a"
}

variable "head" {
  type    = string
  default = "b"
}

server "vllm" "s%d" {
  for_each   = { base = var.base, head = var.head }
  executable = "vllm"
  model      = "tiny"
  env        = { COMMIT = each.value }

  simulate {
    profile      = "fast"
    slowdown     = contains(%s, each.value) ? "8%%" : "0%%"
    launch_noise = "1.414%%"
  }
}

dataset "random" "d" {
  input_len  = 32
  output_len = 8
}

benchmark "b" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.s%[1]d[matrix.side]
  dataset = dataset.random.d

  load {
    max_concurrency = 1
    requests        = 10
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "g" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.tpot.mean]
  margin    = "5%%"
}
`

// commits makes a repository and returns its commits, the oldest first.
func commits(t *testing.T, dir string, n int) []string {
	t.Helper()
	var stream strings.Builder
	for i := range n + 1 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter n <n@example.com> %d +0000\ndata 4\nc%03d\n\n", 1_700_000_000+i, i)
	}
	git := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "--quiet", "--initial-branch=main")
	git(stream.String(), "fast-import", "--quiet")
	return strings.Fields(git("", "rev-list", "--reverse", "main"))
}

// find searches a file with the whole program, in virtual time. Its text has places for the seed and the commits that are worse.
func find(t *testing.T, dir, text string, seed int, worse, list []string) *bisection.Document {
	t.Helper()
	bad, err := json.Marshal(worse)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "f.pipeline.hcl")
	if err := os.WriteFile(file, fmt.Appendf(nil, text, seed, bad), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	folder := filepath.Join(t.TempDir(), "out")
	code := Main([]string{"bisect", file, "--simulate=virtual", "--good", list[0], "--bad", list[len(list)-1], "--out", folder,
		"--format", "json"}, Streams{
		Out: &out, Err: &log, Log: &log, Environ: os.Environ, Getenv: spawn.Getenv([]string{"PATH=" + os.Getenv("PATH")}),
		Width: func() int { return 0 }, OutWidth: func() int { return 0 },
	})
	var doc bisection.Document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("exit status %d: %s%v", code, &log, err)
	}
	if code != bisectExit(&doc) {
		t.Errorf("exit status %d of %s", code, doc.Answer)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	return &doc
}

var ofSearches = flag.Int("searches", fewSearches, "searches of 64 commits that are simulated; what is promised was tried with 100")

// TestSearches: over many searches of 64 commits the whole program, its judge and its
// models name the commit that made a server 8 % slower, and none where there is none.
func TestSearches(t *testing.T) {
	dir := t.TempDir()
	list := commits(t, dir, searchedCommits)
	searches := *ofSearches
	if *full {
		searches = max(searches, fullSearches)
	}
	right, wrong, launches := 0, 0, 0
	for seed := range searches {
		at := 1 + seed*7%searchedCommits
		doc := find(t, dir, searched, seed, list[at:], list)
		launches += doc.Launches
		switch {
		case doc.Answer == bisection.Found && len(doc.Steps) == 1 && doc.Steps[0].Bad == list[at]:
			right++
		case doc.Answer != bisection.Range && doc.Answer != bisection.Undecided:
			wrong++
		}
	}
	none := 0
	for seed := range max(1, searches/5) {
		if find(t, dir, searched, searches+seed, []string{}, list).Answer == bisection.None {
			none++
		}
	}
	t.Logf("%d of %d right, %d wrong, %.1f launches; %d without a step", right, searches, wrong, float64(launches)/float64(searches), none)
	if right*100 < 95*searches || wrong*100 > 5*searches || launches > 40*searches || none*100 < 95*max(1, searches/5) {
		t.Errorf("promised are 95 %% right, 5 %% wrong, 40 launches, and 95 %% without a step where there is none")
	}
}

// TestSearchesByCounters: what is followed can be what servers count: a metric of the table, a measure of the file, and one that is
// compared by its difference.
func TestSearchesByCounters(t *testing.T) {
	dir := t.TempDir()
	list := commits(t, dir, 8)
	drafting := strings.NewReplacer(
		`slowdown     = contains(%s, each.value) ? "8%%" : "0%%"`, `acceptance = contains(%s, each.value) ? "60%%" : "70%%"`,
		`  model      = "tiny"`,
		"  version = \"0.11.0\"\n  model = \"tiny\"\n  args = { speculative_config = { method = \"ngram\", num_speculative_tokens = 4 } }",
		"output_len = 8", "output_len = 32",
		"requests        = 10", "requests        = 20",
	).Replace(searched)
	for metric, margin := range map[string]string{
		"metric.acceptance.length": "1.5%%", "metric.measure.drafted": "3%%", "metric.measure.accepted": "2pp",
	} {
		doc := find(t, dir, strings.NewReplacer("metric.tpot.mean", metric, "5%%", margin).Replace(drafting)+`
measure "drafted" {
  description = "Drafted per output token"
  series      = "vllm:spec_decode_num_draft_tokens_total"
  kind        = "counter"
  per         = "output_token"
  unit        = "tokens"
  better      = "lower"
}

measure "accepted" {
  description = "Share that is accepted"
  series      = "vllm:spec_decode_num_accepted_tokens_total"
  kind        = "counter"
  over        = "vllm:spec_decode_num_draft_tokens_total"
  unit        = "fraction"
  better      = "higher"
  compare     = "difference"
}
`, 1, list[3:], list)
		if doc.Answer != bisection.Found || len(doc.Steps) != 1 || doc.Steps[0].Bad != list[3] || "metric."+doc.Metric != metric {
			t.Errorf("%s: %s, %+v", metric, doc.Answer, doc.Steps)
		}
	}
}

// TestEndsOfASeries: a series is named by its key, or by its cell's label or hash.
func TestEndsOfASeries(t *testing.T) {
	points := make([]series.Point, 8)
	for i := range points {
		points[i].Commit = fmt.Sprint("commit", i)
	}
	h := &series.History{Trends: []series.Trend{
		{Key: "k1", Cell: "c1", Label: "rate=4", Parts: []series.Part{{Points: points}}},
		{Key: "k2", Cell: "c2", Label: "rate=8",
			Parts: []series.Part{{Points: points, Changes: []series.Change{{Index: 4, Worse: true}, {Index: 6}}}}},
	}}
	for _, name := range []string{"k2", "c2", "rate=8"} {
		if good, bad, err := endsOfSeries(h, name); err != nil || good != "commit2" || bad != "commit5" {
			t.Errorf("%s: %s to %s, %v", name, good, bad, err)
		}
	}
	for name, want := range map[string]string{"rate=4": "no change for the worse", "rate=2": "has no series"} {
		if _, _, err := endsOfSeries(h, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A search that a full disk ends offers to go on; one that its file is at fault for does not.
func TestSearchErrorOffersToGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search")
	folder, err := bisect.OpenFolder(path, &bisect.State{File: "f"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	full := fmt.Errorf("writing results.json: %w", syscall.ENOSPC)
	for name, tt := range map[string]struct {
		err   error
		offer bool
		code  int
	}{
		"a full disk":              {full, true, exitInfrastructure},
		"a full disk in a session": {exit(exitInfrastructure, full), true, exitInfrastructure},
		"a fault of the file":      {exit(exitUsage, errors.New("no such metric")), false, exitUsage},
	} {
		got := (&app{}).searchError(t.Context(), &bisect.Search{Folder: folder}, tt.err)
		said, ok := errors.AsType[*exitError](got)
		if !ok || said.code != tt.code || strings.Contains(got.Error(), "--resume --out "+path) != tt.offer {
			t.Errorf("%s: %v", name, got)
		}
	}
}
