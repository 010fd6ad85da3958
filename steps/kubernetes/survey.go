package kubernetes

import (
	"context"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/version"
)

// Survey describes a cluster as this user sees it. It is made without creating objects.
type Survey struct {
	Where   Where
	Version string
	// NoNamespace is true if the namespace does not exist, as far as this user may see.
	NoNamespace bool
	// Missing are the rights that a run lacks, as verb and resource.
	Missing []string
	// Terminating is true if the namespace is being deleted.
	Terminating bool
	// Refused are Pods of a run that the API server would reject, each with its messages.
	Refused []string
	// NoPullSecrets are pull secrets of the file that are missing in the namespace.
	NoPullSecrets []string
	// Nodes that match the block, by name, with their number of GPUs for Pods; nil if this user may not list
	// nodes, a right that runs do not need.
	Nodes []NodeGPUs
}

// Where describes the namespace and the cluster of the survey.
type Where struct {
	Namespace string
	Server    string // its address
	Context   string // of the kubeconfig, "" without one
}

// String names the namespace with its cluster.
func (w Where) String() string {
	text := "namespace " + w.Namespace + " of " + w.Server
	if w.Context != "" {
		text += " (context " + w.Context + ")"
	}
	return text
}

// NodeGPUs is a node with the number of its GPUs.
type NodeGPUs struct {
	Name string
	GPUs int64
}

func (c *cluster) where() Where {
	w := Where{Namespace: c.namespace, Context: c.context}
	if c.config != nil {
		w.Server = c.config.Host
	}
	return w
}

// Examine surveys a cluster, and asks it whether it would admit the Pods of a run that starts the given
// containers.
func Examine(ctx context.Context, opt Options, trials []Trial) (Survey, error) {
	r, err := New(opt)
	if err != nil {
		return Survey{}, err
	}
	s, err := r.survey(ctx)
	if err != nil || s.NoNamespace || s.Terminating || len(s.Missing) > 0 {
		return s, err
	}
	s.NoPullSecrets = r.missingPullSecrets(ctx)
	s.Refused, err = r.try(ctx, trials)
	return s, err
}

func (c *cluster) survey(ctx context.Context) (Survey, error) {
	s := Survey{Where: c.where()}
	var is *version.Info
	err := c.ask(ctx, func(ctx context.Context) (err error) {
		is, err = c.client.ServerVersion(ctx)
		return err
	})
	if err != nil {
		return s, err
	}
	s.Version = is.GitVersion
	err = c.ask(ctx, func(ctx context.Context) error {
		space, err := c.client.Namespaces().Get(ctx, c.namespace, meta.GetOptions{})
		s.Terminating = err == nil && space.Status.Phase == core.NamespaceTerminating
		return err
	})
	s.NoNamespace = apierrors.IsNotFound(err)
	if err != nil && !s.NoNamespace && !apierrors.IsForbidden(err) {
		return s, err
	}
	if s.Missing, err = c.missingRights(ctx); err != nil {
		return s, err
	}
	s.Nodes, err = c.nodesWithGPUs(ctx)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return s, err
}

func (c *cluster) nodesWithGPUs(ctx context.Context) ([]NodeGPUs, error) {
	out := []NodeGPUs{}
	err := c.ask(ctx, func(ctx context.Context) error {
		found, err := c.client.Nodes().List(ctx,
			meta.ListOptions{LabelSelector: labels.SelectorFromSet(c.opt.Spec.NodeSelector).String()})
		if err != nil {
			return err
		}
		out = out[:0]
		for _, n := range found.Items {
			if gpus := n.Status.Allocatable[core.ResourceName(c.opt.Spec.GPUResource)]; gpus.Value() > 0 && !n.Spec.Unschedulable {
				out = append(out, NodeGPUs{n.Name, gpus.Value()})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b NodeGPUs) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
