package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// writeFiles writes a process's files into a new folder and returns its environment with
// their paths.
func (l *Launcher) writeFiles(p steps.Process) ([]steps.EnvVar, error) {
	if len(p.Files) == 0 {
		return p.Env, nil
	}
	if l.opt.Folder == nil {
		return nil, errors.New("it needs files, and nothing says where to write them")
	}
	dir, err := l.opt.Folder(p.Name)
	if err != nil {
		return nil, err
	}
	vars := slices.Clone(p.Env)
	for _, f := range p.Files {
		if err := steps.CheckFile(f); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Content, 0o600); err != nil {
			return nil, fmt.Errorf("write its files: %w", err)
		}
		vars = slices.DeleteFunc(vars, func(e steps.EnvVar) bool { return e.Name == f.EnvVar })
		if f.EnvVar != "" {
			vars = append(vars, steps.EnvVar{Name: f.EnvVar, Value: path})
		}
	}
	return vars, nil
}
