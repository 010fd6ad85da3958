package kubernetes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/servegate/pipeline/steps"
)

// TestSurvey: the nodes are those with GPUs which the file may have, and a user who may not see them is told so.
func TestSurvey(t *testing.T) {
	node := func(name, gpus string, cordoned bool) *core.Node {
		return &core.Node{
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"kind": name[:1]}}, Spec: core.NodeSpec{Unschedulable: cordoned},
			Status: core.NodeStatus{Allocatable: core.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}},
		}
	}
	for name, tt := range map[string]struct {
		forbidden bool
		selector  map[string]string
		namespace string
		want      []NodeGPUs
		none      bool
	}{
		"all":           {namespace: "bench", want: []NodeGPUs{{"a1", 8}, {"b1", 2}}},
		"of one kind":   {namespace: "bench", selector: map[string]string{"kind": "b"}, want: []NodeGPUs{{"b1", 2}}},
		"of no kind":    {namespace: "bench", selector: map[string]string{"kind": "z"}, want: []NodeGPUs{}},
		"not to be had": {namespace: "bench", forbidden: true},
		"elsewhere":     {namespace: "other", want: []NodeGPUs{{"a1", 8}, {"b1", 2}}, none: true},
	} {
		client := newFake(node("b1", "2", false), node("a1", "8", false), node("c1", "0", false), node("d1", "8", true),
			&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "bench"}})
		client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview)
			review.Status.Allowed = true
			return true, review, nil
		})
		if tt.forbidden {
			client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
				resource := a.GetResource().Resource
				if resource != "nodes" && resource != "namespaces" {
					return false, nil, nil
				}
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
			})
		}
		opt := Options{Spec: steps.KubernetesSpec{NodeSelector: tt.selector}}
		opt.complete()
		c := &cluster{opt: opt, client: client, namespace: tt.namespace, patience: opt.Patience}
		got, err := c.survey(t.Context())
		if err != nil || got.NoNamespace != tt.none {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff(tt.want, got.Nodes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
