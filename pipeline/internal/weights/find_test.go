package weights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

// tree writes files with a byte each below a new folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "x"
		if filepath.Base(filepath.Dir(name)) == "refs" {
			text = "abc123\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	const hub = "models--org--m/"
	dir := tree(t,
		"local/model-1.safetensors", "local/model-2.safetensors", "local/consolidated.safetensors", "local/pytorch_model.bin", "local/config.json",
		"old/pytorch_model.bin", "old/training_args.bin", "one/m.gguf", "empty/config.json", "odd[1]/x.safetensors",
		"cache/hub/"+hub+"refs/main", "cache/hub/"+hub+"snapshots/abc123/m.safetensors", "cache/hub/"+hub+"snapshots/def/n.safetensors",
	)
	home := func(name string) string {
		return map[string]string{"HF_HOME": filepath.Join(dir, "cache")}[name]
	}
	container := &steps.ContainerSpec{Mounts: []steps.Mount{{Source: ".", Target: "/data"}, {Source: "old", Target: "/data/other/"}, {Source: "cache", Target: "/root/.cache/huggingface"}}}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string // the files below dir, or the error
	}{
		"a folder":                    {steps.ServerSpec{Model: "local"}, "local/model-1.safetensors local/model-2.safetensors"},
		"beside a working folder":     {steps.ServerSpec{Model: "../local", Dir: "old"}, "local/model-1.safetensors local/model-2.safetensors"},
		"an older format":             {steps.ServerSpec{Model: filepath.Join(dir, "old")}, "old/pytorch_model.bin"},
		"a file":                      {steps.ServerSpec{Model: "one/m.gguf"}, "one/m.gguf"},
		"a name that is a pattern":    {steps.ServerSpec{Model: "odd[1]"}, "odd[1]/x.safetensors"},
		"a folder without weights":    {steps.ServerSpec{Model: "empty"}, "error: DIR/empty has no weights"},
		"a path that is not there":    {steps.ServerSpec{Model: "/none/m"}, "error: /none/m is not on this machine"},
		"the cache":                   {steps.ServerSpec{Model: "org/m"}, "cache/hub/" + hub + "snapshots/abc123/m.safetensors"},
		"a revision":                  {steps.ServerSpec{Model: "org/m", Args: []steps.Arg{{Name: "revision", Value: "def"}}}, "cache/hub/" + hub + "snapshots/def/n.safetensors"},
		"a revision that climbs":      {steps.ServerSpec{Model: "org/m", Args: []steps.Arg{{Name: "revision", Value: "../../../../local"}}}, "error: org/m is not in DIR/cache/hub"},
		"not in the cache":            {steps.ServerSpec{Model: "org/other"}, "error: org/other is not in DIR/cache/hub"},
		"another cache":               {steps.ServerSpec{Model: "org/m", Env: []steps.EnvVar{{Name: "HF_HUB_CACHE", Value: "/none"}}}, "error: org/m is not in /none"},
		"a mount":                     {steps.ServerSpec{Image: "i", Model: "/data/local", Container: container}, "local/model-1.safetensors local/model-2.safetensors"},
		"the closest mount":           {steps.ServerSpec{Image: "i", Model: "/data/other", Container: container}, "old/pytorch_model.bin"},
		"the cache of a container":    {steps.ServerSpec{Image: "i", Model: "org/m", Container: container}, "cache/hub/" + hub + "snapshots/abc123/m.safetensors"},
		"the variables of the image":  {steps.ServerSpec{Image: "i", Model: "org/m", Env: []steps.EnvVar{{Name: "HF_HOME", Value: "/data/cache"}}, Container: container}, "cache/hub/" + hub + "snapshots/abc123/m.safetensors"},
		"a container's own":           {steps.ServerSpec{Image: "i", Model: "org/m"}, "error: /root/.cache/huggingface/hub of its container is no folder of this machine: mount one there in place of a volume"},
		"a path in the image":         {steps.ServerSpec{Image: "i", Model: "/models/m", Container: container}, "error: /models/m is not on this machine"},
		"a mount that begins like it": {steps.ServerSpec{Image: "i", Model: "/database/m", Container: container}, "error: /database/m is not on this machine"},
	} {
		got, err := Find(tt.spec, dir, home)
		for i := range got {
			got[i], _ = filepath.Rel(dir, got[i])
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + strings.ReplaceAll(err.Error(), dir, "DIR")
		}
		if diff := cmp.Diff(tt.want, text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
