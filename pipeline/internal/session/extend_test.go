package session

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/store"
)

// Repeats are added to a session whose void runs were measured again. Only a session of an
// earlier version has given their numbers away.
func TestRepeatsAreAddedAfterReplacements(t *testing.T) {
	for name, tt := range map[string]struct {
		last int // repeat that was launched
		want string
	}{
		"nothing was void":           {4, ""},
		"a void run, measured again": {1001, ""},
		"by an earlier version":      {5, "repeats from 5 on"},
		"beyond what is added":       {9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := store.Create(filepath.Join(t.TempDir(), "out"), event.NewRedactor(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := dir.Close(); err != nil {
					t.Error(err)
				}
			}()
			longer := &plan.Plan{Repeats: make([]plan.Repeat, 8)}
			s := &session{dir: dir, opt: Options{Plan: longer}, earlier: &engine.Outcome{
				Plan: &plan.Plan{Repeats: make([]plan.Repeat, 4)}, Launched: []engine.Launched{{Repeat: 3}, {Repeat: tt.last}},
			}}
			err = s.extend(4)
			if tt.want == "" && (err != nil || s.earlier.Plan != longer) {
				t.Errorf("refused: %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want …%s…", err, tt.want)
			}
		})
	}
}
