package slurm

import (
	"context"
	"errors"
	"strings"
)

// Mark identifies the creator of a job or step. It is the comment of jobs and part of the name of steps.
type Mark struct {
	RunID string
	// Owner is the program that created it, "" if unknown.
	Owner string
}

const markPrefix = "pipeline/"

// String formats the mark as one word.
func (m Mark) String() string { return markPrefix + m.RunID + "/" + m.Owner }

// parseMark parses the output of String.
func parseMark(text string) (Mark, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), markPrefix)
	if !ok {
		return Mark{}, false
	}
	run, owner, ok := strings.Cut(rest, "/")
	return Mark{run, owner}, ok && run != ""
}

// Left is a job or step that a run left behind.
type Left struct {
	// Kind is "job" or "step".
	Kind string
	// ID in scancel's form.
	ID   string
	Mark Mark
}

// Leftovers lists the jobs and steps of this user whose mark satisfies fits. It uses only Spawner and Env of
// Options.
func Leftovers(ctx context.Context, opt Options, fits func(Mark) bool) ([]Left, error) {
	opt.complete()
	jobs, err := opt.call(ctx, "squeue", "--noheader", "--me", "--format=%i|%k")
	if err != nil {
		return nil, err
	}
	running, err := opt.call(ctx, "squeue", "--noheader", "--me", "--steps", "--format=%i|%j")
	if err != nil {
		return nil, err
	}
	var found []Left
	whole := map[string]bool{} // jobs that will end with all their steps
	for line := range strings.Lines(jobs) {
		id, comment, _ := strings.Cut(strings.TrimSpace(line), "|")
		if m, ok := parseMark(comment); ok && fits(m) {
			whole[id] = true
			found = append(found, Left{"job", id, m})
		}
	}
	for line := range strings.Lines(running) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "|")
		_, mark, _ := strings.Cut(name, "@")
		job, _, _ := strings.Cut(id, ".")
		if m, ok := parseMark(mark); ok && fits(m) && !whole[job] {
			found = append(found, Left{"step", id, m})
		}
	}
	return found, nil
}

// Cleanup cancels the jobs and steps found by [Leftovers], and returns them.
func Cleanup(ctx context.Context, opt Options, fits func(Mark) bool) ([]Left, error) {
	found, err := Leftovers(ctx, opt, fits)
	if err != nil {
		return nil, err
	}
	opt.complete()
	var errs []error
	for _, l := range found {
		if _, err := opt.call(ctx, "scancel", l.ID); err != nil && !alreadyEnded(err) {
			errs = append(errs, err)
		}
	}
	return found, errors.Join(errs...)
}
