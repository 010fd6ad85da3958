// Package git runs git without prompts, with limits on time and output.
package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

const (
	timeout = 5 * time.Minute
	// maxOutput is how much of a command's output is read, in bytes.
	maxOutput = 1 << 30
)

// Repo is a folder in which git runs.
type Repo struct {
	Spawner steps.Spawner
	Dir     string
	// Env is added to the environment of every command.
	Env []steps.EnvVar
}

// Line is Run for commands that print one line.
func (r Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := r.Run(ctx, args...)
	return strings.TrimSpace(string(out)), err
}

// Run runs a command and returns its output.
func (r Repo) Run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	stdout, stderr := &buffer{most: maxOutput}, &buffer{most: 64 << 10}
	child, err := r.Spawner.Spawn(ctx, steps.Command{
		Argv: append([]string{"git", "-C", r.Dir}, args...), Stdout: stdout, Stderr: stderr,
		Env: append([]steps.EnvVar{{Name: "GIT_TERMINAL_PROMPT", Value: "0"}, {Name: "LC_ALL", Value: "C"}}, r.Env...),
	})
	if err != nil {
		return nil, fmt.Errorf("git is needed: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		err = child.Signal("KILL")
		<-child.Done()
		return nil, errors.Join(fmt.Errorf("git %s: %w", args[0], context.Cause(ctx)), err)
	}
	if err := child.Wait(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(stderr.kept)))
	}
	if stdout.cut {
		return nil, fmt.Errorf("git %s: its answer has more than %d bytes", args[0], maxOutput)
	}
	return stdout.kept, nil
}

// buffer stores the first bytes of an output.
type buffer struct {
	kept []byte
	most int
	cut  bool
}

func (b *buffer) Write(p []byte) (int, error) {
	room := min(b.most-len(b.kept), len(p))
	b.cut = b.cut || room < len(p)
	b.kept = append(b.kept, p[:room]...)
	return len(p), nil
}
