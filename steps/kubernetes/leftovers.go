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

// Leftovers lists the Jobs of runs in the namespace whose mark fits. Of Options those are used that
// say how the cluster is reached.
func Leftovers(ctx context.Context, opt Options, fits func(runID, owner string) bool) ([]Left, error) {
	c, err := connect(opt)
	if err != nil {
		return nil, err
	}
	return c.leftovers(ctx, fits)
}

func (c *cluster) leftovers(ctx context.Context, fits func(runID, owner string) bool) ([]Left, error) {
	var out []Left
	err := c.ask(ctx, func(ctx context.Context) error {
		found, err := c.client.BatchV1().Jobs(c.namespace).List(ctx, meta.ListOptions{LabelSelector: managedLabel + "=" + managedBy + "," + roleLabel + "=keeper"})
		if err != nil {
			return err
		}
		for _, j := range found.Items {
			if run := j.Annotations[runLabel]; fits(run, j.Annotations[ownerLabel]) {
				out = append(out, Left{c.namespace, j.Name, run})
			}
		}
		return nil
	})
	return out, err
}

// Cleanup removes what [Leftovers] finds, and returns what is gone.
func Cleanup(ctx context.Context, opt Options, fits func(runID, owner string) bool) ([]Left, error) {
	c, err := connect(opt)
	if err != nil {
		return nil, err
	}
	found, err := c.leftovers(ctx, fits)
	errs := []error{err}
	var removed []Left
	for _, l := range found {
		if err := c.removeRun(ctx, l.Job, l.RunID); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}
