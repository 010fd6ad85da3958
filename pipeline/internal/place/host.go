package place

import (
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// AnyAddress is the address to listen on for a process that others reach at an address of its machine.
const AnyAddress = "0.0.0.0"

// Loopback is the address of a process without another address.
const Loopback = "127.0.0.1"

// InFolder makes the working directory and the executable's path absolute. Both are relative to the server's
// own folder; caches are relative to the pipeline file's folder.
func InFolder(spec steps.ServerSpec, dir string) steps.ServerSpec {
	own := spec.From(dir)
	if spec.Dir == "" {
		spec.Dir = own
	} else if !filepath.IsAbs(spec.Dir) {
		spec.Dir = filepath.Join(own, spec.Dir)
	}
	if spec.Image == "" {
		for _, c := range spec.Caches {
			spec.Env = append(steps.WithoutEnv(spec.Env, c.Env), steps.EnvVar{Name: c.Env, Value: FromFolder(c.Folder, dir)})
		}
	}
	if len(spec.Executable) > 0 {
		spec.Executable = append([]string{Program(spec.Executable[0], own)}, spec.Executable[1:]...)
	}
	return spec
}

// FromFolder makes a path in a file of dir absolute.
func FromFolder(name, dir string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

// Program makes the path of a program in a file of dir absolute; a plain name is left for a search in PATH.
func Program(name, dir string) string {
	if dir != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}
