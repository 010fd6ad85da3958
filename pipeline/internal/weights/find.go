// Package weights finds the weights of a model on this machine, and reads them into the page cache
// before a server does: a start then takes as long whether or not it is the first.
package weights

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Find lists the files with the weights of a server's model on this machine, where a process in dir with
// some environment, or a container with some folders of the machine, would find them: the file or the
// folder that it names, or a model of the Hugging Face cache.
func Find(spec steps.ServerSpec, dir string, getenv func(string) string) ([]string, error) {
	at := place{spec, dir, getenv}
	if named := at.onMachine(spec.Model); named != "" {
		info, err := os.Stat(named)
		switch {
		case err == nil && info.IsDir():
			return files(named)
		case err == nil:
			return []string{named}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if path.IsAbs(spec.Model) || strings.Count(spec.Model, "/") > 1 || strings.HasPrefix(spec.Model, ".") {
		return nil, fmt.Errorf("%s is not on this machine", spec.Model)
	}
	folder, err := at.snapshot()
	if err != nil {
		return nil, err
	}
	return files(folder)
}

// place is where a server looks for its model.
type place struct {
	spec   steps.ServerSpec
	dir    string // of the pipeline file
	getenv func(string) string
}

// onMachine is the path on this machine of one that the server names, "" where it has none.
func (p place) onMachine(name string) string {
	c := p.spec.Container
	if p.spec.Image == "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(from(p.dir, p.spec.Dir), name)
		}
		return name
	}
	if c == nil || !path.IsAbs(name) {
		return ""
	}
	best := steps.Mount{}
	for _, m := range c.Mounts {
		target := strings.TrimRight(m.Target, "/")
		if strings.HasPrefix(name+"/", target+"/") && len(target) >= len(best.Target) {
			best = steps.Mount{Source: m.Source, Target: target}
		}
	}
	if best.Source == "" {
		return ""
	}
	return filepath.Join(from(p.dir, best.Source), strings.TrimPrefix(name, best.Target))
}

// snapshot is the folder of a model in the Hugging Face cache: that of its revision.
func (p place) snapshot() (string, error) {
	hub := p.hub()
	cache := p.onMachine(hub)
	if cache == "" {
		return "", fmt.Errorf("%s of its container is no folder of this machine: mount one there in place of a volume", hub)
	}
	model := filepath.Join(cache, "models--"+strings.ReplaceAll(p.spec.Model, "/", "--"))
	revision := "main"
	if named := argument.SettingsOf(p.spec)["revision"]; named != "" {
		revision = named
	}
	ref, err := os.ReadFile(filepath.Join(model, "refs", filepath.FromSlash(path.Clean("/"+revision))))
	if err == nil {
		revision = strings.TrimSpace(string(ref))
	}
	folder := filepath.Join(model, "snapshots", filepath.FromSlash(path.Clean("/"+revision)))
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("%s is not in %s", p.spec.Model, cache)
	}
	return folder, nil
}

// hub is the folder of the cache as the server knows it.
func (p place) hub() string {
	env := func(name string) string {
		if value, ok := steps.Getenv(p.spec.Env, name); ok || p.spec.Image != "" {
			return value
		}
		return p.getenv(name)
	}
	if hub := cmp.Or(env("HF_HUB_CACHE"), env("HUGGINGFACE_HUB_CACHE")); hub != "" {
		return hub
	}
	home := "/root" // of images, unless they say otherwise
	if p.spec.Image == "" {
		home = p.getenv("HOME")
	}
	home = cmp.Or(env("HF_HOME"), filepath.Join(cmp.Or(env("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "huggingface"))
	return filepath.Join(home, "hub")
}

// from makes a path that is meant from a folder one that is found from here.
func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// formats of weights, of which a server reads the first that is there. Some models come in two at once.
var formats = []struct{ pattern, unless string }{
	{"*.safetensors", "consolidated*"}, {"consolidated*.safetensors", ""}, {"*.bin", "training_args*"}, {"*.pt", ""}, {"*.pth", ""}, {"*.gguf", ""},
}

// files are those of a folder that have weights, in the order of their names.
func files(folder string) ([]string, error) {
	for _, format := range formats {
		found, err := filepath.Glob(filepath.Join(escaped(folder), format.pattern))
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(name string) bool {
			not, _ := path.Match(format.unless, filepath.Base(name)) // the pattern is ours
			return not
		})
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s has no weights", folder)
}

// escaped is a folder as a pattern that matches it alone.
func escaped(folder string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}
