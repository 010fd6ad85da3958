package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/spf13/cobra"
)

// cleanFlags selects a namespace of a cluster. Only --kubernetes enables it, because the current context of a
// kubeconfig may be any cluster.
type cleanFlags struct {
	use                            bool
	kubeconfig, context, namespace string
}

// cleaner removes Jobs of runs, with all that they own.
func cleaner(cmd *cobra.Command) place.Cleaner {
	var k cleanFlags
	flags := cmd.Flags()
	flags.BoolVar(&k.use, "kubernetes", false, "remove what runs have left in a namespace of a Kubernetes cluster as well")
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "`path` of the kubeconfig (that of KUBECONFIG or ~/.kube/config unless set)")
	flags.StringVar(&k.context, "kube-context", "", "`context` of the kubeconfig (the current one unless set)")
	flags.StringVar(&k.namespace, "kube-namespace", "", "`namespace` (that of the context unless set)")
	cmd.MarkFlagsMutuallyExclusive("kubernetes", "expired") // a cluster enforces its deadlines itself
	return place.Cleaner{Check: k.check, Clean: k.clean}
}

// check rejects cluster flags without --kubernetes.
func (k *cleanFlags) check() error {
	if !k.use && k.kubeconfig+k.context+k.namespace != "" {
		return errors.New("--kubeconfig, --kube-context and --kube-namespace are for --kubernetes, which is missing")
	}
	return nil
}

// clean returns the number of Jobs found. Deleting a Job deletes everything that it owns.
func (k *cleanFlags) clean(ctx context.Context, c place.Cleaning) (int, error) {
	if !k.use {
		return 0, nil
	}
	opt := kubernetes.Options{Getenv: c.Getenv, Version: c.Version, Spec: steps.KubernetesSpec{Kubeconfig: k.kubeconfig, Context: k.context,
		Namespace: k.namespace}}
	remove, done := kubernetes.Cleanup, "deleted"
	if c.DryRun {
		remove, done = kubernetes.Leftovers, "would delete"
	}
	found, err := remove(ctx, opt, c.Selects)
	for _, l := range found.Left {
		fmt.Fprintf(c.Out, "%s Job %s of namespace %s, of run %s\n", done, l.Job, l.Namespace, l.RunID)
	}
	if c.RunID != "" {
		found.Kept = nil // other runs were not selected
	}
	for _, l := range found.Kept {
		fmt.Fprintf(c.Out,
			"Job %s of namespace %s stays: its program runs, or ran on another machine, of which nothing is known here; --run-id %s removes it\n",
			l.Job, l.Namespace, l.RunID)
	}
	if err == nil && len(found.Left)+len(found.Kept) == 0 {
		fmt.Fprintf(c.Out, "no run has left a Job in %s\n", found.Where)
	}
	return len(found.Left) + len(found.Kept), err
}
