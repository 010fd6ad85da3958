package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// sectionOf returns a section of a report, an empty one for none.
func sectionOf(doc *result.Document, id string) model.Section {
	for _, s := range reports.Build(doc, reports.Options{}).Sections {
		if s.ID == id {
			return s
		}
	}
	return model.Section{}
}

// How a process ended is said once, whether the launcher says "1" or "exit status 1".
func TestExitIsSaidOnce(t *testing.T) {
	for exit, want := range map[string]string{"exit status 3": "exit status 3", "3": "exit 3", "killed": "exit killed"} {
		failed := result.Launch{Target: "server.vllm.a", Repeat: 1, Failure: &result.Failure{Phase: "ready", Exit: exit}}
		doc := &result.Document{Launches: []result.Launch{failed}}
		text := model.Join(" ", sectionOf(doc, "failures").Notes...).String()
		if !strings.Contains(text, want) || strings.Contains(text, "exit exit") {
			t.Errorf("%s: %q", exit, text)
		}
	}
}

// A launch of a repeat that measures void runs again is told by the repeat of the plan.
func TestRepeatOfAFailedLaunch(t *testing.T) {
	failed := func(repeat int) result.Launch {
		return result.Launch{Target: "server.vllm.a", Repeat: repeat, Failure: &result.Failure{Phase: "ready", Class: "exited"}}
	}
	doc := &result.Document{
		Launches: []result.Launch{failed(2), failed(1001)},
		Benchmarks: []result.Benchmark{{Cells: []result.Cell{{Runs: []result.Run{
			{Repeat: 2, Status: result.RunFailed}, {Repeat: 3, Status: result.RunVoid}, {Repeat: 1001, Replaces: 3, Status: result.RunFailed},
		}}}}},
	}
	if text := model.Join(" ", sectionOf(doc, "failures").Notes...).String(); !strings.Contains(text, "(repeat 2, 3 again)") {
		t.Errorf("%s", text)
	}
}

// Log lines of the same failure differ in their times and process ids. They are one failure of several launches.
func TestFailuresAlikeButForNumbers(t *testing.T) {
	failed := func(repeat int, evidence string) result.Launch {
		return result.Launch{Target: "server.llamacpp.a", Repeat: repeat, Failure: &result.Failure{Phase: "ready", Class: "model_missing",
			Evidence: evidence}}
	}
	doc := &result.Document{Launches: []result.Launch{
		failed(1, "0.00.043.018 E failed to open GGUF file 'quick.gguf'"), failed(2, "0.00.005.535 E failed to open GGUF file 'quick.gguf'"),
		failed(3, "0.00.007.662 E failed to open GGUF file 'slow.gguf'"),
	}}
	notes := sectionOf(doc, "failures").Notes
	if text := model.Join(" ", notes...).String(); len(notes) != 2 || !strings.Contains(text, "in 2 of 3 launches (repeat 1, 2)") {
		t.Errorf("%d notes: %s", len(notes), text)
	}
}
