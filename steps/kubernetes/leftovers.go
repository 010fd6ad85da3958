package kubernetes

import (
	"context"
	"errors"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Left is a Job that a run has left, which owns all else that it made.
type Left struct {
	Namespace, Job string
	RunID          string
}

// Found lists the Jobs of runs in a namespace.
type Found struct {
	Where Where
	// Left are the Jobs whose mark fits, and Kept those whose mark does not.
	Left, Kept []Left
}

// Leftovers lists the Jobs of runs in the namespace, separated by fits. It uses only the Options for the
// connection to the cluster.
func Leftovers(ctx context.Context, opt Options, fits func(runID, owner string) bool) (Found, error) {
	c, err := connect(opt)
	if err != nil {
		return Found{}, err
	}
	return c.leftovers(ctx, fits)
}

func (c *cluster) leftovers(ctx context.Context, fits func(runID, owner string) bool) (Found, error) {
	out := Found{Where: c.where()}
	err := c.ask(ctx, func(ctx context.Context) error {
		found, err := c.client.Jobs(c.namespace).List(ctx, meta.ListOptions{LabelSelector: managedLabel + "=" + managedBy + "," +
			roleLabel + "=keeper"})
		if err != nil {
			return err
		}
		for _, j := range found.Items {
			run := j.Annotations[runLabel]
			if one := (Left{c.namespace, j.Name, run}); fits(run, j.Annotations[ownerLabel]) {
				out.Left = append(out.Left, one)
			} else {
				out.Kept = append(out.Kept, one)
			}
		}
		return nil
	})
	return out, err
}

// Cleanup removes the Jobs that [Leftovers] finds. Left holds the removed ones; the error describes the
// others.
func Cleanup(ctx context.Context, opt Options, fits func(runID, owner string) bool) (Found, error) {
	c, err := connect(opt)
	if err != nil {
		return Found{}, err
	}
	out, err := c.leftovers(ctx, fits)
	errs := []error{err}
	found := out.Left
	out.Left = nil
	for _, l := range found {
		if err := c.removeRun(ctx, l.Job, l.RunID); err != nil {
			errs = append(errs, err)
			continue
		}
		out.Left = append(out.Left, l)
	}
	return out, errors.Join(errs...)
}
