package session_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// exampleOfProfile carries examples/profile out in virtual time, with changes to its text.
func exampleOfProfile(t *testing.T, changes ...string) session.Result {
	t.Helper()
	got, err := session.Run(context.Background(), optionsOfProfile(t, changes...))
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// optionsOfProfile plans examples/profile in virtual time, with changes to its text.
func optionsOfProfile(t *testing.T, changes ...string) session.Options {
	t.Helper()
	text, err := os.ReadFile("../../../examples/profile/profile.pipeline.hcl")
	if err != nil {
		t.Fatal(err)
	}
	changes = append(changes, "= 200", "= 32", "input_len  = 512", "input_len  = 32", "= 128", "= 64", "max = 8", "max = 4") // less to do
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("the example has no %q", changes[i])
		}
	}
	file := filepath.Join(t.TempDir(), "profile.pipeline.hcl")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	p, diags := plan.Build(loadFile(t, file), plan.Options{File: "profile", Simulated: plan.SimulateVirtual, TimeScale: 1})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	now := time.Unix(1_800_000_000, 0)
	return session.Options{
		Plan: p, Out: filepath.Join(t.TempDir(), "run"), Engines: simulators, Formats: reports.AllFormats(),
		Places: []place.Kind{virtual.Kind()}, Self: "pipeline", Now: func() time.Time { return now }, Random: rand.Reader,
	}
}

// TestProfilesOfPlantedOperations: the operation that takes the time of a regression of 8 % is
// among the first three rows of 19 of 20 profiles.
func TestProfilesOfPlantedOperations(t *testing.T) {
	profiles, least := 2, 2
	if *full {
		profiles, least = 20, 19
	}
	// of several GPUs
	planted := slices.DeleteFunc(model.OperationNames(), func(name string) bool { return name == "all_reduce" || name == "send_recv" })
	found := 0
	for i := range profiles {
		op := planted[(5+i)%len(planted)]
		// The noise of a launch follows from its name.
		doc := exampleOfProfile(t, `"attention"`, fmt.Sprintf("%q", op), `"sut"`, fmt.Sprintf(`"sut%d"`, i), "vllm.sut[",
			fmt.Sprintf("vllm.sut%d[", i)).Document
		p := doc.Profile
		if p == nil || p.Reason != "" {
			t.Fatalf("%s: no profile of a file that is %s: %+v", op, doc.Verdict, p)
		}
		kernel := model.KernelOf(op)
		at := slices.IndexFunc(p.Rows, func(r result.ProfileRow) bool { return r.Name == kernel || r.Full == kernel })
		if at >= 0 && at < 3 {
			found++
		} else {
			t.Logf("%s is row %d: %+v", op, at+1, p.Rows)
		}
	}
	t.Logf("the operation is among the first three rows of %d of %d profiles", found, profiles)
	if found < least {
		t.Errorf("want %d", least)
	}
}

// TestNothingIsProfiledUnlessAGateRegresses: without a regression the session is what it is
// without the block, and with one it has no more samples than its verdict rests on.
func TestNothingIsProfiledUnlessAGateRegresses(t *testing.T) {
	passed := exampleOfProfile(t, `"8%"`, `"0%"`)
	if d := passed.Document; d.Profile != nil || d.Verdict == result.Regression {
		t.Errorf("%s: %+v", d.Verdict, d.Profile)
	}
	off := exampleOfProfile(t, `window   = "3s"`, `enabled  = false`)
	if d := off.Document; d.Profile != nil || d.Verdict != result.Regression {
		t.Errorf("%s: %+v although it is not enabled", d.Verdict, d.Profile)
	}
	regressed := exampleOfProfile(t)
	d := regressed.Document
	if d.Profile == nil || len(d.Profile.Rows) == 0 {
		t.Fatalf("%s: %+v", d.Verdict, d.Profile)
	}
	without := exampleOfProfile(t, "profile {\n    window   = \"3s\"\n    max_size = \"256MiB\"\n  }", "").Document
	if without.Profile != nil || len(without.Launches) != len(d.Launches) || without.Verdict != d.Verdict ||
		*without.Gates[0].Decisions[0].P != *d.Gates[0].Decisions[0].P {
		t.Errorf("%d launches with a profile, %d without; %s and %s", len(d.Launches), len(without.Launches), d.Verdict, without.Verdict)
	}
	for _, l := range d.Launches {
		if strings.Contains(l.ID, "profile") {
			t.Errorf("the document has the launch %s", l.ID)
		}
	}
	for i, target := range d.Targets {
		if !slices.Equal(target.Argv, without.Targets[i].Argv) || slices.Contains(target.Argv, "--profiler-config") {
			t.Errorf("%s is measured as %q", target.Addr, target.Argv)
		}
	}
	journal, err := os.ReadFile(filepath.Join(regressed.Dir, "events.jsonl"))
	if err != nil || strings.Contains(string(journal), "--profiler-config") || strings.Contains(string(journal), `"launch":"profile-`) {
		t.Errorf("the journal has launches of the profile: %v", err)
	}
	if spent := d.Profile.Spent; spent == nil || spent.MachineHours <= 0 || spent.MachineHours >= d.Bill.Spent.MachineHours ||
		d.Bill.Spent != without.Bill.Spent {
		t.Errorf("the profile took %+v of machines beside %+v, %+v without it", spent, d.Bill.Spent, without.Bill.Spent)
	}
	for _, s := range d.Profile.Sides {
		for _, file := range s.Files {
			if _, err := os.Stat(filepath.Join(regressed.Dir, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// countedAsserts counts the evaluations of conditions.
type countedAsserts struct {
	config.Late
	n *int
}

func (c countedAsserts) EvalAssert(gate string, cell []result.AxisValue, in config.AssertInput) ([]config.Limit, string, error) {
	*c.n++
	return c.Late.EvalAssert(gate, cell, in)
}

// TestAProfileIsNoReasonToJudgeAgain: a run with a profile evaluates each condition as often as one without.
func TestAProfileIsNoReasonToJudgeAgain(t *testing.T) {
	limit := []string{`gate "decoding" {`, `gate "answers" {
  benchmark = benchmark.serving

  assert {
    condition     = self.errors == 0
    error_message = "requests failed"
  }
}

gate "decoding" {`}
	evaluations := func(change ...string) (n int, p *result.Profile) {
		opt := optionsOfProfile(t, slices.Concat(limit, change)...)
		opt.Plan.Config.Late = countedAsserts{opt.Plan.Config.Late, &n}
		got, err := session.Run(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		return n, got.Document.Profile
	}
	with, profile := evaluations()
	without, none := evaluations(`window   = "3s"`, `enabled  = false`)
	if profile == nil || len(profile.Rows) == 0 || none != nil {
		t.Fatalf("profiles %+v and %+v", profile, none)
	}
	if with != without || with == 0 {
		t.Errorf("%d evaluations of the condition with a profile, %d without", with, without)
	}
}

// TestProfileThatFails: a verdict stands whatever becomes of the profile, and the reason is
// in the document.
func TestProfileThatFails(t *testing.T) {
	want := exampleOfProfile(t).Document
	for name, tt := range map[string]struct {
		change []string
		reason string
		note   string
	}{
		"no room": {[]string{`"256MiB"`, `"1B"`}, "", "larger than max_size"},
		"an own profiler": {[]string{"max_model_len = 4096", "max_model_len = 4096\n    profiler_config = { profiler = \"cuda\" }"},
			"args.profiler_config is set in the file", ""},
		"a short run":      {[]string{`window   = "3s"`, `window = "10m"`}, "", "of it are profiled"},
		"nothing to count": {[]string{`window   = "3s"`, `window = "1ns"`}, "nothing to do in the time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := exampleOfProfile(t, tt.change...)
			d := got.Document
			if d.Verdict != want.Verdict || d.ExitCode != want.ExitCode {
				t.Errorf("%s, exit status %d", d.Verdict, d.ExitCode)
			}
			if d.Profile == nil || !strings.Contains(d.Profile.Reason, tt.reason) || (tt.reason == "") != (d.Profile.Reason == "") {
				t.Fatalf("%+v", d.Profile)
			}
			if tt.reason != "" && len(d.Profile.Rows) > 0 || tt.note != "" && !strings.Contains(strings.Join(d.Profile.Notes, " "), tt.note) {
				t.Errorf("%+v", d.Profile)
			}
		})
	}
}
