package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Action runs commands. The zero value is ready.
type Action struct {
	// Grace is the time between the stop signal and the kill, after a timeout or an interrupt; 5 s unless set.
	Grace time.Duration
}

var _ steps.Action = Action{}

// ErrTimeout means that a command exceeded its timeout.
var ErrTimeout = errors.New("the command took longer than its timeout")

// ErrOutputFile means that the file for the outputs could not be made, so that the command was not started.
var ErrOutputFile = errors.New("make the output file")

// Run runs the command of obj and returns its declared outputs. Standard output and standard error go to
// env.Log. A nonzero exit status is an error. When Run returns, the whole process group has ended.
func (a Action) Run(ctx context.Context, env steps.ActionEnv, obj steps.Object) (map[string]string, error) {
	cmd, err := command(env, obj)
	if err != nil {
		return nil, err
	}
	declared, err := obj.Texts("outputs")
	if err != nil {
		return nil, err
	}
	file, err := steps.CreateOutputFile(env.Temp)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutputFile, err)
	}
	defer func() { _ = os.Remove(file) }() // in a temporary folder; a failure does no harm
	cmd.Env = append(cmd.Env, steps.EnvVar{Name: steps.OutputVar, Value: file})

	limit := obj.Duration("timeout")
	if limit <= 0 {
		limit = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w of %s", ErrTimeout, limit))
	defer cancel()
	child, err := env.Spawner.Spawn(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if err := steps.AwaitChild(ctx, child, a.Grace); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd.Argv[0], err)
	}
	return readOutputs(file, declared)
}

func command(env steps.ActionEnv, obj steps.Object) (steps.Command, error) {
	argv, err := obj.Texts("command")
	if err != nil {
		return steps.Command{}, err
	}
	if len(argv) == 0 {
		return steps.Command{}, errors.New("command is empty or not known yet")
	}
	vars, err := obj.Env("env")
	if err != nil {
		return steps.Command{}, err
	}
	dir := obj.Text("dir")
	if dir == "" {
		dir = env.Dir
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	log := env.Log
	if log == nil {
		log = io.Discard
	}
	return steps.Command{Argv: argv, Env: vars, Dir: dir, Stdout: log, Stderr: log}, nil
}

func readOutputs(file string, declared []string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the output file: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	return parseOutputs(f, declared)
}
