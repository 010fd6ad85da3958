package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorization "k8s.io/api/authorization/v1"

	"github.com/servegate/pipeline/steps"
)

// Right is a permission that a run needs in the namespace.
type Right struct {
	Group, Resource string // with the subresource after a slash
	Verbs           []string
	// Reason for the need.
	Why string
}

// Rights lists exactly the rights that a run needs in the namespace. The verb for streams, get or create,
// depends on the version of the API server.
func Rights() []Right {
	return []Right{
		{"batch", "jobs", []string{"create", "get", "list", "delete"}, "the Job that owns all that a run makes"},
		{"", "pods", []string{"create", "get", "list", "patch", "delete"}, "servers, the look at nodes, and signs of life"},
		{"", "pods/log", []string{"get"}, "what servers write"},
		{"", "pods/exec", []string{"get", "create"}, "the load generator on a node"},
		{"", "pods/portforward", []string{"get", "create"}, "servers that are not reached from outside of the cluster"},
		{"", "secrets", []string{"create", "delete"}, "secret variables and files of servers; none is read"},
		{"", "events", []string{"list"}, "why a Pod does not start"},
	}
}

// checkRights returns an error that lists all missing rights.
func (c *cluster) checkRights(ctx context.Context) error {
	missing, err := c.missingRights(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	advice := "`pipeline init --kubernetes` writes a Role with what is needed"
	if len(missing) == rightCount() {
		advice = "these are all rights of a run, so its RoleBinding is missing or names somebody else: apply what " +
			"`pipeline init --kubernetes` writes"
	}
	return evictedf(steps.EvictionForbidden, "in namespace %s this user may not %s; %s", c.namespace, strings.Join(missing, ", "), advice)
}

// rightCount returns the number of rights that a run needs, each verb counted.
func rightCount() (n int) {
	for _, r := range Rights() {
		n += len(r.Verbs)
	}
	return n
}

// missingRights asks the API server about each right, and returns the missing ones as verb and resource.
func (c *cluster) missingRights(ctx context.Context) ([]string, error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	var missing []string
	var failed error
	for _, r := range Rights() {
		for _, verb := range r.Verbs {
			all.Go(func() {
				ok, err := c.may(ctx, r, verb)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					failed = err
				case !ok:
					missing = append(missing, verb+" "+strings.TrimPrefix(r.Group+"/"+r.Resource, "/"))
				}
			})
		}
	}
	all.Wait()
	if failed != nil {
		return nil, fmt.Errorf("asking for the rights in namespace %s: %w", c.namespace, failed)
	}
	slices.Sort(missing)
	return missing, nil
}

func (c *cluster) may(ctx context.Context, r Right, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorization.ResourceAttributes{Namespace: c.namespace, Verb: verb, Group: r.Group,
			Resource: resource, Subresource: sub},
	}}
	err := c.ask(ctx, func(ctx context.Context) error {
		said, err := c.client.Review(ctx, review)
		if err == nil {
			review = said
		}
		return err
	})
	return review.Status.Allowed, err
}
