package cli

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// starters holds the files that init writes: a pipeline file to start from, and the workflows that run it for pull
// requests. examples/github shows the same files with their results.
//
//go:embed starter
var starters embed.FS

// starterFile is the name of the pipeline file to start from.
const starterFile = "gate.pipeline.hcl"

// starterWorkflows lists the GitHub workflows.
var starterWorkflows = []string{"pull-request.yml", "comment.yml", "commands.yml", "nightly.yml"}

// unpinned replaces the commit of this program in the workflows if it is unknown. GitHub has no such commit: a job
// with write permissions must not run the current content of a branch.
const unpinned = "0000000000000000000000000000000000000000"

// refPlaceholder marks the place of the commit in the files.
const refPlaceholder = "PIPELINE_REF"

// writeStarters writes the pipeline file, and the workflows if github is set, into a folder, which it creates. The
// workflows use this program at ref, a commit or a release. It returns the paths written and the existing ones, which
// it leaves unchanged. It returns an error if all files exist already.
func writeStarters(dir string, github bool, ref string) (written, kept []string, err error) {
	to := map[string]string{starterFile: starterFile}
	order := []string{starterFile}
	if github {
		for _, name := range starterWorkflows {
			to[name] = filepath.Join(".github", "workflows", "performance-"+name)
			order = append(order, name)
		}
	}
	for _, name := range order {
		target := filepath.Join(dir, to[name])
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			kept = append(kept, target)
			continue
		}
		if err := writeStarter(target, name, cmp.Or(ref, unpinned)); err != nil {
			return written, kept, err
		}
		written = append(written, target)
	}
	if len(written) == 0 {
		return nil, kept, fmt.Errorf("%s already exists; nothing was written", strings.Join(kept, ", "))
	}
	return written, kept, nil
}

// writeStarter writes one file. It returns an error if the file already exists.
func writeStarter(target, name, ref string) error {
	content, err := starters.ReadFile(path.Join("starter", name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return writeNew(target, bytes.ReplaceAll(content, []byte(refPlaceholder), []byte(ref)))
}

// writeInto writes a new file into a folder, which it creates, and prints its path.
func (a *app) writeInto(dir, name string, content []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit(exitInfrastructure, err)
	}
	err := writeNew(path, content)
	if errors.Is(err, fs.ErrExist) {
		return exit(exitUsage, fmt.Errorf("%s already exists; nothing was written", path))
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	_, err = fmt.Fprintln(a.Out, path)
	return err
}

// writeNew writes a file. It returns an error if the file already exists.
func writeNew(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
