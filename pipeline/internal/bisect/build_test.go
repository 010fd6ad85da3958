package bisect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/gates/culprit"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// The builds that were used last are kept, with those of the two sides.
func TestEviction(t *testing.T) {
	b := &Builder{Folder: t.TempDir()}
	var list []Candidate
	for i := range 8 {
		c := Candidate{Ref: fmt.Sprintf("c%d", i)}
		list = append(list, c)
		deep := filepath.Join(b.path(c), "cache")
		if err := os.MkdirAll(deep, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{filepath.Join(deep, "module"), b.receipt(c)} {
			if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		used := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(b.receipt(c), used, used); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(deep, 0o500); err != nil { // as a module cache is
			t.Fatal(err)
		}
	}
	if err := b.evict(list[0], list[2]); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range list {
		_, err := os.Stat(b.path(c))
		_, receipt := os.Stat(b.receipt(c))
		if (err == nil) != (receipt == nil) {
			t.Errorf("%s: %v, %v", c.Ref, err, receipt)
		}
		if err == nil {
			left = append(left, c.Ref)
		}
	}
	if diff := cmp.Diff([]string{"c0", "c2", "c5", "c6", "c7"}, left); diff != "" {
		t.Error(diff)
	}
	if err := b.Clear(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(b.Folder); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestParseLog(t *testing.T) {
	a, b := fmt.Sprintf("%040x", 1), fmt.Sprintf("%040x", 2)
	got := parseLog(a + "\x1fOne\x1f\x1e\n" + b + "\x1fRevert \"One\"\x1fThis reverts commit " + a + ".\n\x1e\n")
	want := []Candidate{{Ref: a, Subject: "One"}, {Ref: b, Subject: `Revert "One"`, Reverts: a}}
	if !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// A note keeps its point behind a subject of any length.
func TestStepNotes(t *testing.T) {
	s := &Search{State: State{Candidates: []Candidate{{Ref: "c0"}, {Ref: "c1", Subject: strings.Repeat("ö", 3000), ChangesFile: true}}}}
	want := []string{"c1 " + strings.Repeat("ö", 72) + "… changes the pipeline file, which was used as it is now for every candidate."}
	if diff := cmp.Diff(want, s.stepNotes(culprit.Range{Good: 0, Bad: 1})); diff != "" {
		t.Error(diff)
	}
}

// What was made and undone between the ends is named where they do not differ.
func TestUndoneBetweenTheEnds(t *testing.T) {
	s := &Search{State: State{Candidates: []Candidate{{Ref: "c0"}, {Ref: "c1", Subject: "Slow"}, {Ref: "c2"}, {Ref: "c3", Subject: "Revert",
		Reverts: "c1"}, {Ref: "c4", Reverts: "b9"}}}}
	d := s.Document(&Found{Ends: &Ends{Verdict: result.Pass}}, "pipeline", nil)
	want := []string{"c1 Slow was reverted by c3 Revert, so neither end has it: an end between the two shows what it did."}
	if diff := cmp.Diff(want, d.Notes); diff != "" || d.Answer != bisection.None {
		t.Errorf("%s: %s", d.Answer, diff)
	}
}

// A build is the commit's failure if its command fails, and ours if its log or its temporary folder does.
func TestWhoseFailureABuildIs(t *testing.T) {
	sp := spawn.New(spawn.Options{Environ: os.Environ()})
	t.Cleanup(sp.Close)
	repo := git.Repo{Spawner: sp, Dir: t.TempDir()}
	for _, args := range [][]string{{"init", "--quiet"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "One"}} {
		if _, err := repo.Run(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	ref, err := repo.Line(t.Context(), "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	c := Candidate{Ref: ref}
	none := func(*testing.T, string) {}
	for name, tt := range map[string]struct {
		command string
		prepare func(t *testing.T, folder string)
		ours    bool
		want    string // of the error
	}{
		"it builds":     {"echo made", none, false, ""},
		"it fails":      {"echo made; exit 1", none, false, "exit status 1"},
		"too large":     {"head -c 200000 /dev/zero > big", none, false, "more than disk"},
		"disk of log":   {"echo made", fullLog(c), true, "writing its log"},
		"fails as well": {"echo made; exit 1", fullLog(c), true, "writing its log"},
		"no logs": {"echo made", func(t *testing.T, folder string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(folder, "logs"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, true, "logs"},
		"no temporary folder": {"echo made", func(t *testing.T, folder string) {
			t.Helper()
			t.Setenv("TMPDIR", filepath.Join(folder, "none"))
		}, true, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Builder{Repo: repo, Folder: t.TempDir()}
			b.Spec = &config.BisectBuild{Disk: 100_000, Command: steps.Object{Attrs: map[string]cty.Value{
				"command": cty.ListVal([]cty.Value{cty.StringVal("sh"), cty.StringVal("-c"), cty.StringVal(tt.command)})}}}
			tt.prepare(t, b.Folder)
			_, err := b.Values(t.Context(), c, c)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, blamed := errors.AsType[*UnbuildableError](err); err == nil || blamed == tt.ours || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("blamed: %t, %v", blamed, err)
			}
		})
	}
}

// fullLog makes the log of a candidate a device that is full.
func fullLog(c Candidate) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("there is no /dev/full")
		}
		logs := filepath.Join(folder, "logs")
		if err := errors.Join(os.Mkdir(logs, 0o700), os.Symlink("/dev/full", filepath.Join(logs, c.Short()+".log"))); err != nil {
			t.Fatal(err)
		}
	}
}
