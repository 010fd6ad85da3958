package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"

	authorization "k8s.io/api/authorization/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// client sends requests to an API server. It knows the kinds of objects that this package uses. The Clientset of client-go
// knows all that there are, which made the program a fifth larger and each start of it slower.
type client interface {
	Pods(namespace string) pods
	Secrets(namespace string) objects[core.Secret, core.SecretList]
	Events(namespace string) objects[core.Event, core.EventList]
	Jobs(namespace string) objects[batch.Job, batch.JobList]
	Namespaces() objects[core.Namespace, core.NamespaceList]
	Nodes() objects[core.Node, core.NodeList]
	// Review returns what the server says of a right.
	Review(ctx context.Context, review *authorization.SelfSubjectAccessReview) (*authorization.SelfSubjectAccessReview, error)
	ServerVersion(ctx context.Context) (*version.Info, error)
	// PodURL returns the address of a subresource of a Pod, with options if they are not nil.
	PodURL(namespace, pod, subresource string, options runtime.Object) *url.URL
}

// objects are the requests for objects of kind T, in lists of type L, as client-go has them.
type objects[T, L any] interface {
	Create(ctx context.Context, object *T, options meta.CreateOptions) (*T, error)
	Get(ctx context.Context, name string, options meta.GetOptions) (*T, error)
	List(ctx context.Context, options meta.ListOptions) (*L, error)
	Delete(ctx context.Context, name string, options meta.DeleteOptions) error
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options meta.PatchOptions, sub ...string) (*T, error)
}

// pods are the requests for Pods and their logs.
type pods interface {
	objects[core.Pod, core.PodList]
	GetLogs(name string, options *core.PodLogOptions) *rest.Request
}

// known returns the kinds of objects of the API groups that this package uses.
var known = sync.OnceValue(func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	meta.AddToGroupVersion(kinds, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, batch.AddToScheme, authorization.AddToScheme} {
		if err := add(kinds); err != nil {
			panic(err) // two kinds of one name in client-go
		}
	}
	return kinds
})

// server is the client of a real API server: a connection for each API group.
type server struct {
	core, batch, authorization rest.Interface
	options                    runtime.ParameterCodec
}

// newClient returns the client of an API server. All groups share its transport and its limit of requests.
func newClient(config *rest.Config) (client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	limit := flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	s := &server{options: runtime.NewParameterCodec(known())}
	codecs := serializer.NewCodecFactory(known()).WithoutConversion()
	for _, g := range []struct {
		version schema.GroupVersion
		path    string
		to      *rest.Interface
	}{
		{core.SchemeGroupVersion, "/api", &s.core}, {batch.SchemeGroupVersion, "/apis", &s.batch},
		{authorization.SchemeGroupVersion, "/apis", &s.authorization},
	} {
		c := rest.CopyConfig(config)
		c.GroupVersion, c.APIPath, c.NegotiatedSerializer, c.RateLimiter = &g.version, g.path, codecs, limit
		if *g.to, err = rest.RESTClientForConfigAndClient(c, transport); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *server) Pods(namespace string) pods {
	return podCollection{collection[core.Pod, core.PodList]{s.core, "pods", namespace, s.options}}
}

func (s *server) Secrets(namespace string) objects[core.Secret, core.SecretList] {
	return collection[core.Secret, core.SecretList]{s.core, "secrets", namespace, s.options}
}

func (s *server) Events(namespace string) objects[core.Event, core.EventList] {
	return collection[core.Event, core.EventList]{s.core, "events", namespace, s.options}
}

func (s *server) Jobs(namespace string) objects[batch.Job, batch.JobList] {
	return collection[batch.Job, batch.JobList]{s.batch, "jobs", namespace, s.options}
}

func (s *server) Namespaces() objects[core.Namespace, core.NamespaceList] {
	return collection[core.Namespace, core.NamespaceList]{s.core, "namespaces", "", s.options}
}

func (s *server) Nodes() objects[core.Node, core.NodeList] {
	return collection[core.Node, core.NodeList]{s.core, "nodes", "", s.options}
}

func (s *server) Review(ctx context.Context, r *authorization.SelfSubjectAccessReview) (*authorization.SelfSubjectAccessReview, error) {
	return collection[authorization.SelfSubjectAccessReview, meta.List]{s.authorization, "selfsubjectaccessreviews", "", s.options}.
		Create(ctx, r, meta.CreateOptions{})
}

func (s *server) ServerVersion(ctx context.Context) (*version.Info, error) {
	body, err := s.core.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	info := &version.Info{}
	if err := json.Unmarshal(body, info); err != nil {
		return nil, fmt.Errorf("the server's version: %w", err)
	}
	return info, nil
}

func (s *server) PodURL(namespace, pod, subresource string, options runtime.Object) *url.URL {
	request := s.core.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource(subresource)
	if options != nil {
		request = request.VersionedParams(options, s.options)
	}
	return request.URL()
}

// collection sends the requests for one kind of objects, in a namespace or, without one, of the cluster.
type collection[T, L any] struct {
	rest      rest.Interface
	name      string
	namespace string
	options   runtime.ParameterCodec
}

// to addresses a request to the collection.
func (r collection[T, L]) to(request *rest.Request) *rest.Request {
	return request.UseProtobufAsDefault().NamespaceIfScoped(r.namespace, r.namespace != "").Resource(r.name)
}

// into sends a request and reads its answer into an object.
func into[T any](ctx context.Context, request *rest.Request) (*T, error) {
	object := new(T)
	return object, request.Do(ctx).Into(any(object).(runtime.Object))
}

func (r collection[T, L]) Create(ctx context.Context, object *T, options meta.CreateOptions) (*T, error) {
	return into[T](ctx, r.to(r.rest.Post()).VersionedParams(&options, r.options).Body(object))
}

func (r collection[T, L]) Get(ctx context.Context, name string, options meta.GetOptions) (*T, error) {
	return into[T](ctx, r.to(r.rest.Get()).Name(name).VersionedParams(&options, r.options))
}

func (r collection[T, L]) List(ctx context.Context, options meta.ListOptions) (*L, error) {
	return into[L](ctx, r.to(r.rest.Get()).VersionedParams(&options, r.options))
}

func (r collection[T, L]) Delete(ctx context.Context, name string, options meta.DeleteOptions) error {
	return r.to(r.rest.Delete()).Name(name).Body(&options).Do(ctx).Error()
}

func (r collection[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options meta.PatchOptions,
	sub ...string) (*T, error) {
	return into[T](ctx, r.to(r.rest.Patch(kind)).Name(name).SubResource(sub...).VersionedParams(&options, r.options).Body(patch))
}

// podCollection adds the logs of Pods.
type podCollection struct {
	collection[core.Pod, core.PodList]
}

func (p podCollection) GetLogs(name string, options *core.PodLogOptions) *rest.Request {
	return p.rest.Get().Namespace(p.namespace).Name(name).Resource("pods").SubResource("log").VersionedParams(options, p.options)
}
