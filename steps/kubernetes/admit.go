package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// Trial is a container that a run would start as a Pod.
type Trial struct {
	Name      string
	Container *steps.ContainerSpec
}

// try asks the API server by dry runs which Pods of a run it would reject, for example because of a quota or
// Pod security. It returns the server's messages and creates nothing.
func (r *Run) try(ctx context.Context, trials []Trial) ([]string, error) {
	pods := []*core.Pod{r.keeperPod()}
	pods[0].Name = r.objectName("keeper")
	if r.opt.Spec.LoadNode != nil {
		pods = append(pods, r.loadPod(*r.opt.Spec.LoadNode, Node{Name: anyNode}))
	}
	for _, s := range trials {
		pod, err := r.podOf(steps.Process{Name: s.Name, Argv: []string{"serve"}, Container: s.Container}, Node{Name: anyNode}, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		pods = append(pods, pod, r.pullPod(Node{Name: anyNode}, s.Container))
	}
	var refused []string
	for _, pod := range pods {
		err := r.ask(ctx, func(ctx context.Context) error { return r.dryRun(ctx, pod) })
		_, refusedSo := errors.AsType[*steps.EvictionError](refusal(err))
		switch {
		case err == nil || strings.Contains(err.Error(), "does not support dry run"): // the error of a webhook
		case refusedSo || strings.Contains(err.Error(), "denied the request"): // by a webhook, with any status
			text := pod.Annotations[nameLabel] + ": " + steps.Line(err.Error(), maxReason)
			if !slices.Contains(refused, text) {
				refused = append(refused, text)
			}
		default:
			return nil, err
		}
	}
	return refused, nil
}

// dryRun asks the API server whether it would create a Pod.
func (r *Run) dryRun(ctx context.Context, pod *core.Pod) error {
	_, err := r.client.Pods(r.namespace).Create(ctx, pod, meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
	return err
}

// anyNode replaces the node's name in a Pod that is not created.
const anyNode = "any"

// missingPullSecrets returns the pull secrets of the file that are missing in the namespace. It tries to
// create each by a dry run, which needs no right to read secrets.
func (r *Run) missingPullSecrets(ctx context.Context) []string {
	var missing []string
	for _, name := range r.opt.Spec.PullSecrets {
		secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Name: name}}
		err := r.ask(ctx, func(ctx context.Context) error {
			_, err := r.client.Secrets(r.namespace).Create(ctx, secret, meta.CreateOptions{DryRun: []string{meta.DryRunAll}})
			return err
		})
		if err == nil {
			missing = append(missing, name)
		}
	}
	return missing
}

// warnPullSecrets warns of missing pull secrets. The kubelet then starts Pods without them if it has their
// images, and otherwise pulls without credentials.
func (r *Run) warnPullSecrets(ctx context.Context) {
	if missing := r.missingPullSecrets(ctx); len(missing) > 0 {
		r.opt.Warn(fmt.Sprintf("namespace %s does not have %s of pull_secrets: a node that has not pulled the images before pulls them "+
			"without credentials; create it by kubectl create secret docker-registry, or take it out of the file", r.namespace,
			strings.Join(missing, ", ")))
	}
}

// beingDeleted is part of the API server's message about a namespace that is being deleted.
const beingDeleted = "because it is being terminated"

// forDeletion reports whether the API server refused an object because its namespace is being deleted.
func forDeletion(err error) bool { return err != nil && strings.Contains(err.Error(), beingDeleted) }

// neverCreated are messages of the Job controller about a Pod that it can never create.
var neverCreated = []string{"no PriorityClass with name", "must specify", "violates PodSecurity", " usage per ",
	"max limit to request ratio", beingDeleted}

// uncreatable returns the reason why the Job can never create a Pod, or "" if none is known.
func (r *Run) uncreatable(ctx context.Context) string {
	said := r.warnings(ctx, "involvedObject.kind=Job,involvedObject.name="+r.job, r.job)
	if slices.ContainsFunc(neverCreated, func(text string) bool { return strings.Contains(said, text) }) {
		return said
	}
	return ""
}
