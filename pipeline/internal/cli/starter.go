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

// starter is what init writes for a service, beside the pipeline file.
type starter struct {
	// flag of init, and what it writes.
	flag, doc string
	files     []starterCopy
	// next tells what remains to be done until the files measure.
	next string
}

// starterCopy is a file of a starter, and the path that it gets.
type starterCopy struct{ name, path string }

// allStarters returns the starters of the services.
func allStarters() []starter {
	workflow := func(name string) starterCopy {
		return starterCopy{name, filepath.Join(".github", "workflows", "performance-"+name)}
	}
	return []starter{
		{"github", "write GitHub workflows as well",
			[]starterCopy{workflow("pull-request.yml"), workflow("comment.yml"), workflow("commands.yml"), workflow("nightly.yml")},
			"The workflows build the Dockerfile of this repository, on a runner with the labels self-hosted, linux and gpu."},
		{"gitlab", "write a job of GitLab CI as well", []starterCopy{{"gitlab.yml", filepath.Join(".gitlab", "performance.yml")}},
			"Include .gitlab/performance.yml in .gitlab-ci.yml. Its job needs a runner with the tag gpu, and the image of the head."},
		{"buildkite", "write a step of Buildkite as well", []starterCopy{{"buildkite.yml", filepath.Join(".buildkite", "performance.yml")}},
			"Upload .buildkite/performance.yml from a step. Its job needs an agent of the queue gpu, and the image of the head."},
	}
}

// unpinned replaces the commit of this program in the workflows if it is unknown. GitHub has no such commit: a job
// with write permissions must not run the current content of a branch.
const unpinned = "0000000000000000000000000000000000000000"

// refPlaceholder marks the place of the commit in the files.
const refPlaceholder = "PIPELINE_REF"

// writeStarters writes the pipeline file, and the files of starters, into a folder, which it creates. They
// use this program at ref, a commit or a release. It returns the paths written and the existing ones, which
// it leaves unchanged. It returns an error if all files exist already.
func writeStarters(dir string, starters []starter, ref string) (written, kept []string, err error) {
	files := []starterCopy{{starterFile, starterFile}}
	for _, s := range starters {
		files = append(files, s.files...)
	}
	for _, f := range files {
		target := filepath.Join(dir, f.path)
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			kept = append(kept, target)
			continue
		}
		if err := writeStarter(target, f.name, cmp.Or(ref, unpinned)); err != nil {
			return written, kept, err
		}
		written = append(written, target)
	}
	if len(written) == 0 {
		return nil, kept, fmt.Errorf("nothing was written, since these files exist: %s", strings.Join(kept, ", "))
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
