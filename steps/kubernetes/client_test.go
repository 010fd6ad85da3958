package kubernetes

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// fakeCluster is the fake of client-go as a client.
type fakeCluster struct{ *fake.Clientset }

func newFake(objects ...runtime.Object) fakeCluster {
	return fakeCluster{fake.NewClientset(objects...)}
}

// fakeOf returns the fake of a run.
func fakeOf(r *Run) fakeCluster { return r.client.(fakeCluster) }

func (f fakeCluster) Pods(namespace string) pods { return f.CoreV1().Pods(namespace) }

func (f fakeCluster) Secrets(namespace string) objects[core.Secret, core.SecretList] {
	return f.CoreV1().Secrets(namespace)
}

func (f fakeCluster) Events(namespace string) objects[core.Event, core.EventList] {
	return f.CoreV1().Events(namespace)
}

func (f fakeCluster) Jobs(namespace string) objects[batch.Job, batch.JobList] {
	return f.BatchV1().Jobs(namespace)
}

func (f fakeCluster) Namespaces() objects[core.Namespace, core.NamespaceList] {
	return f.CoreV1().Namespaces()
}

func (f fakeCluster) Nodes() objects[core.Node, core.NodeList] { return f.CoreV1().Nodes() }

func (f fakeCluster) Review(ctx context.Context, r *authorization.SelfSubjectAccessReview) (*authorization.SelfSubjectAccessReview, error) {
	return f.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, r, meta.CreateOptions{})
}

func (f fakeCluster) ServerVersion(context.Context) (*version.Info, error) {
	return f.Discovery().ServerVersion()
}

func (f fakeCluster) PodURL(string, string, string, runtime.Object) *url.URL { return &url.URL{} }

// TestClientRequests compares the requests of the client with those of the API, and reads its answers and refusals.
func TestClientRequests(t *testing.T) {
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		object := map[string]any{"metadata": map[string]any{"name": "answered"}}
		w.Header().Set("Content-Type", "application/json")
		if body, _ := io.ReadAll(r.Body); r.Method == http.MethodPost {
			if _, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err != nil || kind.Version != "v1" {
				t.Errorf("%s: the API does not know what was sent: %v", r.URL.Path, err)
			}
		}
		switch {
		case r.Method == http.MethodGet && name == "p1": // as a server answers what prefers its compact form
			if !strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
				t.Errorf("a Pod is asked for as %s", r.Header.Get("Accept"))
			}
			pod := &core.Pod{TypeMeta: meta.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: meta.ObjectMeta{Name: "answered"}}
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, w)
			return
		case name == "version":
			object = map[string]any{"gitVersion": "v1.34.1"}
		case name == "log":
			_, _ = w.Write([]byte("a line\n"))
			return
		case name == "absent":
			w.WriteHeader(http.StatusNotFound)
			object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
				"message": `pods "absent" not found`}
		case name == "selfsubjectaccessreviews":
			object["kind"], object["apiVersion"] = "SelfSubjectAccessReview", "authorization.k8s.io/v1"
			object["status"] = map[string]any{"allowed": true}
		case r.Method == http.MethodDelete:
			object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
		case r.Method == http.MethodGet && !strings.HasSuffix(name, "1"):
			kind := map[string]string{"pods": "PodList", "events": "EventList", "nodes": "NodeList", "jobs": "JobList"}[name]
			object = map[string]any{"kind": kind, "apiVersion": versionOf(r), "items": []any{object}}
		default:
			kind := map[string]string{"p1": "Pod", "pods": "Pod", "s1": "Secret", "secrets": "Secret", "j1": "Job", "jobs": "Job",
				"n1": "Namespace"}[name]
			object["kind"], object["apiVersion"] = kind, versionOf(r)
		}
		_ = json.NewEncoder(w).Encode(object)
	}))
	defer api.Close()
	c, err := newClient(&rest.Config{Host: api.URL, QPS: requestsPerSecond, Burst: requestsAtOnce})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	now := int64(0)
	for _, request := range []struct {
		want string
		send func() (name string, err error)
	}{
		{"POST /api/v1/namespaces/bench/pods?dryRun=All", func() (string, error) {
			return nameOf(c.Pods("bench").Create(ctx, &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "p1"}},
				meta.CreateOptions{DryRun: []string{meta.DryRunAll}}))
		}},
		{"GET /api/v1/namespaces/bench/pods/p1", func() (string, error) {
			return nameOf(c.Pods("bench").Get(ctx, "p1", meta.GetOptions{}))
		}},
		{"GET /api/v1/namespaces/bench/pods?labelSelector=role%3Dkeeper", func() (string, error) {
			list, err := c.Pods("bench").List(ctx, meta.ListOptions{LabelSelector: "role=keeper"})
			return nameOf(&list.Items[0], err)
		}},
		{"PATCH /api/v1/namespaces/bench/pods/p1", func() (string, error) {
			return nameOf(c.Pods("bench").Patch(ctx, "p1", types.MergePatchType, []byte("{}"), meta.PatchOptions{}))
		}},
		{"DELETE /api/v1/namespaces/bench/pods/p1", func() (string, error) {
			return "answered", c.Pods("bench").Delete(ctx, "p1", meta.DeleteOptions{GracePeriodSeconds: &now})
		}},
		{"GET /api/v1/namespaces/bench/pods/p1/log?container=main&follow=true", func() (string, error) {
			text, err := c.Pods("bench").GetLogs("p1", &core.PodLogOptions{Container: "main", Follow: true}).DoRaw(ctx)
			return strings.Replace(string(text), "a line\n", "answered", 1), err
		}},
		{"POST /api/v1/namespaces/bench/secrets", func() (string, error) {
			return nameOf(c.Secrets("bench").Create(ctx, &core.Secret{}, meta.CreateOptions{}))
		}},
		{"GET /api/v1/namespaces/bench/events?fieldSelector=involvedObject.name%3Dp1", func() (string, error) {
			list, err := c.Events("bench").List(ctx, meta.ListOptions{FieldSelector: "involvedObject.name=p1"})
			return nameOf(&list.Items[0], err)
		}},
		{"POST /apis/batch/v1/namespaces/bench/jobs", func() (string, error) {
			return nameOf(c.Jobs("bench").Create(ctx, &batch.Job{}, meta.CreateOptions{}))
		}},
		{"GET /apis/batch/v1/namespaces/bench/jobs", func() (string, error) {
			list, err := c.Jobs("bench").List(ctx, meta.ListOptions{})
			return nameOf(&list.Items[0], err)
		}},
		{"GET /api/v1/namespaces/n1", func() (string, error) { return nameOf(c.Namespaces().Get(ctx, "n1", meta.GetOptions{})) }},
		{"GET /api/v1/nodes", func() (string, error) {
			list, err := c.Nodes().List(ctx, meta.ListOptions{})
			return nameOf(&list.Items[0], err)
		}},
		{"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func() (string, error) {
			review, err := c.Review(ctx, &authorization.SelfSubjectAccessReview{})
			if err == nil && !review.Status.Allowed {
				t.Error("a right that the server grants is not granted")
			}
			return nameOf(review, err)
		}},
		{"GET /version", func() (string, error) {
			is, err := c.ServerVersion(ctx)
			return strings.Replace(is.GitVersion, "v1.34.1", "answered", 1), err
		}},
	} {
		asked = nil
		name, err := request.send()
		if err != nil || name != "answered" || !slices.Equal(asked, []string{request.want}) {
			t.Errorf("%s: %q, %v, requests %q", request.want, name, err, asked)
		}
	}
	if _, err := c.Pods("bench").Get(ctx, "absent", meta.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Pod that is not there: %v", err)
	}
	exec := c.PodURL("bench", "p1", "exec", &core.PodExecOptions{Container: "main", Command: []string{"a", "b c"}, Stdin: true})
	if want := api.URL + "/api/v1/namespaces/bench/pods/p1/exec?command=a&command=b+c&container=main&stdin=true"; exec.String() != want {
		t.Errorf("exec at %s, want %s", exec, want)
	}
	forward := c.PodURL("bench", "p1", "portforward", nil)
	if want := api.URL + "/api/v1/namespaces/bench/pods/p1/portforward"; forward.String() != want {
		t.Errorf("portforward at %s, want %s", forward, want)
	}
}

// versionOf returns the version of the API that a request names.
func versionOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/apis/batch/") {
		return "batch/v1"
	}
	return "v1"
}

func nameOf(object meta.Object, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return object.GetName(), nil
}
