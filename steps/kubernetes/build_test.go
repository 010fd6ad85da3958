package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// TestDoubt: a version that many builds have says nothing of two programs, and their content does.
func TestDoubt(t *testing.T) {
	one, other, arm := build{"linux/amd64", "1"}, build{"linux/amd64", "2"}, build{"linux/arm64", "3"}
	for name, tt := range map[string]struct {
		version string
		theirs  build
		want    string
	}{
		"a release":             {"v1.2.3", other, ""},
		"a commit":              {"v0.0.0-20261101000000-0123456789ab", other, ""},
		"the same program":      {"(devel)", one, ""},
		"another build":         {"(devel)", other, "its content is another"},
		"of a changed tree":     {"v0.0.0-20261101000000-0123456789ab+dirty", other, "its content is another"},
		"for another processor": {"devel", arm, "built for linux/arm64, and this one for linux/amd64"},
	} {
		got := doubt("r/pipeline:1", tt.version, tt.theirs, one)
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLookSaysItsBuild: the Pod that looks says what program it is, where its version does not.
func TestLookSaysItsBuild(t *testing.T) {
	self := filepath.Join(t.TempDir(), "pipeline")
	if err := os.WriteFile(self, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	ours, err := buildOf(self)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]build{"(devel)": ours, "v1.0.0": {}} {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		w := InPod{Self: self, Version: version, Facts: func(context.Context) map[string]string { return nil }, Out: &out}
		cancel()
		if err := w.Work(ctx, []string{workerLook}); err != nil {
			t.Fatal(err)
		}
		var look Look
		if err := json.Unmarshal(out.Bytes(), &look); err != nil || look.Build != want {
			t.Errorf("%s: %+v, %v", version, look, err)
		}
	}
	var warned []string
	r := runOf(steps.KubernetesSpec{Image: "i"})
	r.opt.Version, r.opt.Self, r.opt.Warn = "(devel)", self, func(text string) { warned = append(warned, text) }
	r.compareBuilds([]build{ours, {Platform: ours.Platform, Sum: "2"}, {Platform: ours.Platform, Sum: "2"}})
	if len(warned) != 1 || !strings.Contains(warned[0], "image i") {
		t.Errorf("warned %q", warned)
	}
}
