package session

import (
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
)

// TestStepsOfAChangeDoNotCountForItsBase: what a step put out under a key counts for runs of the same folder and the
// same judge alone.
func TestStepsOfAChangeDoNotCountForItsBase(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // where the folder is found without the variable
	folder, other := t.TempDir(), t.TempDir()
	of := func(folder string, judgesChange bool) *session {
		return &session{opt: Options{Plan: &plan.Plan{Config: &config.Config{Folder: folder, JudgesChange: judgesChange}}}}
	}
	const step, key = "step.exec.image", "v1"
	if err := of(folder, false).cache().Store(step, key, map[string]string{"digest": "of the change"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		folder       string
		judgesChange bool
		want         bool
	}{
		{"the same file again", folder, false, true},
		{"a file that judges a change", folder, true, false},
		{"another folder", other, false, false},
		{"another folder that judges a change", other, true, false},
	} {
		if outputs, ok := of(tt.folder, tt.judgesChange).cache().Load(step, key); ok != tt.want {
			t.Errorf("%s: %v, %v", tt.name, outputs, ok)
		}
	}
}
