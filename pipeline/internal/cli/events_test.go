package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// TestEventsHaveTheirFields: the events of a run that searches, and those of a recorded
// one with failures, have the fields that the table lists and no others. Only an interrupted run
// is not among them.
func TestEventsHaveTheirFields(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join("..", "ui", "testdata", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	searching := strings.NewReplacer("rate     = 20",
		"search {\nmin = 5\nmax = 40\nprobes = 4\nslo {\nmetric = metric.tpot.mean\nlimit = \"1s\"\n}\n}",
		"requests = 10", "requests = 20", "max = 4", "max = 6", "metric.tpot.mean]", "metric.capacity.rate]").Replace(toyPipeline)
	if err := os.WriteFile("toy.pipeline.hcl", []byte(searching), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := toyRunner(t, func(a *app) { a.formats = append(a.formats, toy) })(exitOK, "run", "toy.pipeline.hcl", "--simulate=virtual",
		"--out", "toy", "--json")
	seen := map[event.Type]bool{}
	for line := range strings.Lines(printed + string(recorded)) {
		var fields map[string]json.RawMessage
		var e event.Event
		if json.Unmarshal([]byte(line), &fields) != nil || json.Unmarshal([]byte(line), &e) != nil {
			continue // a warning on standard error
		}
		i := slices.IndexFunc(event.Types, func(info event.Info) bool { return info.Type == e.Type })
		if i < 0 {
			t.Errorf("the table has no type %q", e.Type)
			continue
		}
		seen[e.Type] = true
		for name := range fields {
			if !slices.Contains([]string{"seq", "time", "type", "text"}, name) && !slices.Contains(event.Types[i].Fields, name) {
				t.Errorf("%s has the field %s, which the table does not list", e.Type, name)
			}
		}
	}
	for _, info := range event.Types {
		if !seen[info.Type] && info.Type != event.Interrupted {
			t.Errorf("no %s was seen", info.Type)
		}
	}
}
