package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/servegate/pipeline/steps"
)

// cluster holds the connection to a namespace of a cluster.
type cluster struct {
	opt       Options
	client    client
	config    *rest.Config // nil for a fake
	namespace string
	context   string // of the kubeconfig, "" without one
	// inside is true if this program runs in a Pod of the cluster.
	inside bool
	// patience is the time without an answer of the API server before a request fails: short at first, so
	// that a wrong address shows soon, and longer for a run that has begun.
	patience time.Duration
	// silence and denials record how long the server has not answered, and how long it has denied granted
	// rights.
	silence, denials silence
	// granted is true if the user had all rights when the run began.
	granted bool
}

// Rate limits of this program's requests. The default of client-go, five a second, is for controllers.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// firstPatience is the patience with an API server that has not answered yet.
const firstPatience = 10 * time.Second

// connect finds the cluster and the namespace. It sends no requests.
func connect(opt Options) (*cluster, error) {
	opt.complete()
	c := &cluster{opt: opt, patience: min(opt.Patience, firstPatience)}
	config, namespace, err := c.configure()
	if err != nil {
		return nil, fmt.Errorf("the cluster's configuration: %w", err)
	}
	c.namespace = namespace
	if opt.Spec.Namespace != "" {
		c.namespace = opt.Spec.Namespace
	}
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, requestsAtOnce, "pipeline/"+opt.Version
	quiet()
	config.WarningHandler = rest.NoWarnings{}
	c.config = config
	c.client, err = newClient(config)
	return c, err
}

// quiet stops client-go from writing to standard error; each call also returns its error.
var quiet = sync.OnceFunc(func() { runtime.ErrorHandlers = nil })

// configure reads the kubeconfig. In a Pod without one it uses the Pod's service account.
func (c *cluster) configure() (config *rest.Config, namespace string, err error) {
	spec, rules := c.opt.Spec, &clientcmd.ClientConfigLoadingRules{}
	switch {
	case spec.Kubeconfig != "":
		rules.ExplicitPath = spec.Kubeconfig
		if !filepath.IsAbs(spec.Kubeconfig) {
			rules.ExplicitPath = filepath.Join(c.opt.Dir, spec.Kubeconfig)
		}
	case c.opt.Getenv("KUBECONFIG") != "":
		rules.Precedence = filepath.SplitList(c.opt.Getenv("KUBECONFIG"))
	default:
		rules.Precedence = []string{filepath.Join(c.opt.Getenv("HOME"), ".kube", "config")}
		if _, err := os.Stat(rules.Precedence[0]); err != nil && c.opt.Getenv("KUBERNETES_SERVICE_HOST") != "" {
			return c.ownAccount()
		}
	}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: spec.Context})
	config, err = loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", fmt.Errorf("there is none in %s; set kubeconfig in the kubernetes block, or KUBECONFIG",
			strings.Join(loaded.ConfigAccess().GetLoadingPrecedence(), ", "))
	}
	if err != nil {
		return nil, "", err
	}
	c.context = spec.Context
	if raw, err := loaded.RawConfig(); err == nil && c.context == "" {
		c.context = raw.CurrentContext
	}
	namespace, _, err = loaded.Namespace()
	return config, namespace, err
}

// podNamespace is where a Pod finds its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownAccount is the service account of the Pod that this program runs in.
func (c *cluster) ownAccount() (*rest.Config, string, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, "", err
	}
	c.inside = true
	namespace, err := os.ReadFile(podNamespace)
	return config, strings.TrimSpace(string(namespace)), err
}

// silence records how long an API server has not given a proper answer. All concurrent and successive
// requests share one limit.
type silence struct {
	mu            sync.Mutex
	since, latest time.Time // of requests without such an answer; zero while there is one
}

// broken records a proper answer.
func (s *silence) broken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
}

// goesOn records a request without a proper answer, and returns the time since the first one. It starts again
// if the previous request was longer ago than patience.
func (s *silence) goesOn(now time.Time, patience time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || now.Sub(s.latest) > patience {
		s.since = now
	}
	s.latest = now
	return now.Sub(s.since)
}

// ask makes a request until it is answered, as long as patience lasts. An answer is the end of it,
// also a refusal.
func (c *cluster) ask(ctx context.Context, request func(context.Context) error) error {
	began := time.Now()
	for {
		once, cancel := context.WithTimeout(ctx, c.opt.CallWait)
		err := request(once)
		cancel()
		if !silent(err) {
			c.silence.broken()
			if !denied(err) {
				c.denials.broken()
			}
		}
		switch {
		case err == nil:
			return nil
		case c.granted && denied(err) && max(time.Since(began), c.denials.goesOn(time.Now(), grantWait)) < grantWait:
		case denied(err):
			return &deniedError{err}
		case !silent(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case max(time.Since(began), c.silence.goesOn(time.Now(), c.patience)) > c.patience:
			return evictedf(steps.EvictionAPILost, "the API server of the cluster has not answered for %s: %v", c.patience, err)
		}
		if err := steps.Sleep(ctx, 4*c.opt.Poll); err != nil {
			return err
		}
	}
}

// grantWait is how long an API server may deny a right that it granted before: after a restart it denies all
// until it has read its roles.
const grantWait = time.Minute

// denied reports whether a request failed because the user lacks a right.
func denied(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}

// deniedError adds the advice for a lost right to an API server's denial.
type deniedError struct{ error }

// regrant is that advice.
const regrant = "; see that the RoleBinding of this user is still there, `pipeline init --kubernetes` writes it"

// Error returns the server's words and the advice. If both are longer than maxReason, the words lose their end.
func (e *deniedError) Error() string {
	return steps.Line(e.error.Error(), maxReason-len("…"+regrant)) + regrant
}

// Unwrap returns the server's error.
func (e *deniedError) Unwrap() error { return e.error }

// silent reports whether an error is not a decision of the API server: the server is unreachable or busy.
func silent(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.ReasonForError(err) != meta.StatusReasonUnknown {
		return apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
			apierrors.IsTimeout(err) || apierrors.IsInternalError(err)
	}
	if _, stranger := errors.AsType[*tls.CertificateVerificationError](err); stranger {
		return false
	}
	if strings.Contains(err.Error(), "getting credentials") {
		return false // the kubeconfig's credential program failed
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// nameResources is the advice for a quota that requires resource amounts.
const nameResources = "; set resources and load_resources in the kubernetes block"

// refusal converts a rejection by the API server to the loss of a place, in the server's words.
func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "must specify"):
		return evicted(steps.EvictionQuota, steps.Line(err.Error(), maxReason-len(nameResources))+nameResources)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return evicted(steps.EvictionQuota, err.Error())
	case apierrors.IsForbidden(err):
		return evicted(steps.EvictionForbidden, err.Error())
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return evicted(steps.EvictionPodRefused, err.Error())
	}
	return err
}
