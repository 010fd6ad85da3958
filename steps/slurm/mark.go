package slurm

import (
	"context"
	"errors"
	"strings"
)

// Mark says who made a job or a step. It is the comment of jobs and part of the name of
// steps.
type Mark struct {
	RunID string
	// Owner is the program that made it, "" if unknown.
	Owner string
}

const markPrefix = "pipeline/"

// String writes the mark as one word.
func (m Mark) String() string { return markPrefix + m.RunID + "/" + m.Owner }

// parseMark reads what String wrote.
func parseMark(text string) (Mark, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), markPrefix)
	if !ok {
		return Mark{}, false
	}
	run, owner, ok := strings.Cut(rest, "/")
	return Mark{run, owner}, ok && run != ""
}

// Left is a job or a step that a run has left.
type Left struct {
	// Kind is "job" or "step".
	Kind string
	// ID as scancel takes it.
	ID   string
	Mark Mark
}

// Leftovers lists the jobs and steps of this user whose mark fits. Of Options, Spawner and
// Env are used.
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
	whole := map[string]bool{} // jobs that end with all their steps
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

// Cleanup cancels what [Leftovers] finds, and returns it.
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
