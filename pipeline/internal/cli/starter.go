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

// starters are the files that init writes: a pipeline file to start from, and the workflows that run it for pull requests.
// examples/github shows the same files with what comes of them.
//
//go:embed starter
var starters embed.FS

// starterFile is the name of the file to start from.
const starterFile = "gate.pipeline.hcl"

// starterWorkflows are the GitHub workflows.
var starterWorkflows = []string{"pull-request.yml", "comment.yml", "commands.yml", "nightly.yml"}

// unpinned stands in the workflows where it is not known which commit of this program they
// use. GitHub has no such commit: a job that writes with rights must not take whatever a
// branch holds on that day.
const unpinned = "0000000000000000000000000000000000000000"

// refPlaceholder stands for the commit in the files.
const refPlaceholder = "PIPELINE_REF"

// writeStarters writes the pipeline file, and the workflows if they are asked for, into a folder,
// which it makes. The workflows use this program at ref, a commit or a release. It returns
// the paths written, and those that were there already and stay as they are. It fails where
// all are there.
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

// writeStarter fails where a file has appeared in the meantime.
func writeStarter(target, name, ref string) error {
	content, err := starters.ReadFile(path.Join("starter", name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.ReplaceAll(content, []byte(refPlaceholder), []byte(ref)))
	return errors.Join(err, f.Close())
}
