package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/spf13/pflag"
)

// kubernetesFlags selects a namespace of a cluster. Only --kubernetes enables it, because the current context of a
// kubeconfig may be any cluster.
type kubernetesFlags struct {
	use                            bool
	kubeconfig, context, namespace string
}

func (k *kubernetesFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&k.use, "kubernetes", false, "remove what runs have left in a namespace of a Kubernetes cluster as well")
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "`path` of the kubeconfig (that of KUBECONFIG or ~/.kube/config unless set)")
	flags.StringVar(&k.context, "kube-context", "", "`context` of the kubeconfig (the current one unless set)")
	flags.StringVar(&k.namespace, "kube-namespace", "", "`namespace` (that of the context unless set)")
}

// check rejects cluster flags without --kubernetes.
func (k *kubernetesFlags) check() error {
	if !k.use && k.kubeconfig+k.context+k.namespace != "" {
		return errors.New("--kubeconfig, --kube-context and --kube-namespace are for --kubernetes, which is missing")
	}
	return nil
}

// cleanKubernetes returns the number of Jobs found. Deleting a Job deletes everything that it owns.
func (a *app) cleanKubernetes(ctx context.Context, f cleanupFlags) (int, error) {
	k := f.cluster
	if !k.use {
		return 0, nil
	}
	opt := kubernetes.Options{Getenv: a.Getenv, Version: Version(), Spec: steps.KubernetesSpec{Kubeconfig: k.kubeconfig, Context: k.context,
		Namespace: k.namespace}}
	fits := func(_, owner string) bool { return spawn.Gone(owner) }
	if f.runID != "" {
		fits = func(run, _ string) bool { return run == f.runID }
	}
	clean, done := kubernetes.Cleanup, "deleted"
	if f.dryRun {
		clean, done = kubernetes.Leftovers, "would delete"
	}
	found, err := clean(ctx, opt, fits)
	for _, l := range found.Left {
		fmt.Fprintf(a.Out, "%s Job %s of namespace %s, of run %s\n", done, l.Job, l.Namespace, l.RunID)
	}
	if f.runID != "" {
		found.Kept = nil // other runs were not selected
	}
	for _, l := range found.Kept {
		fmt.Fprintf(a.Out,
			"Job %s of namespace %s stays: its program runs, or ran on another machine, of which nothing is known here; --run-id %s removes it\n",
			l.Job, l.Namespace, l.RunID)
	}
	if err == nil && len(found.Left)+len(found.Kept) == 0 {
		fmt.Fprintf(a.Out, "no run has left a Job in %s\n", found.Where)
	}
	return len(found.Left) + len(found.Kept), err
}
