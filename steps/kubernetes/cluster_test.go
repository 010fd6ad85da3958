package kubernetes

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/servegate/pipeline/steps"
)

// TestRights: what a user may not do is named with its verb and resource, all of it at once.
func TestRights(t *testing.T) {
	client := newFake()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked.Resource != "secrets" && (asked.Subresource != "exec" || asked.Verb == "get")
		return true, review, nil
	})
	opt := Options{}
	opt.complete()
	c := &cluster{opt: opt, client: client, namespace: "bench", patience: opt.Patience}
	err := c.checkRights(t.Context())
	want := "bench this user may not create pods/exec, create secrets, delete secrets; `pipeline init"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.CreateAction).GetObject(), nil // allows nothing
	})
	if err := c.checkRights(t.Context()); err == nil || !strings.Contains(err.Error(), "its RoleBinding is missing or names somebody else") {
		t.Errorf("%v", err)
	}
}

// TestRightsLost: a run whose rights are taken away says what to do, and waits a minute once and not for each
// request.
func TestRightsLost(t *testing.T) {
	denial := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p",
		errors.New(`User "bench" cannot delete resource`+strings.Repeat(" in its namespace", maxReason)))
	synctest.Test(t, func(t *testing.T) {
		opt := Options{}
		opt.complete()
		c := &cluster{opt: opt, patience: time.Minute, granted: true}
		ask := func(answer error) (time.Duration, error) {
			began := time.Now()
			err := refusal(c.ask(t.Context(), func(context.Context) error { return answer }))
			return time.Since(began), err
		}
		for i, step := range []struct {
			answer error
			waits  bool
		}{{denial, true}, {denial, false}, {denial, false}, {nil, false}, {denial, true}} {
			took, err := ask(step.answer)
			if (took >= grantWait) != step.waits {
				t.Errorf("request %d took %s", i, took)
			}
			e, _ := errors.AsType[*steps.EvictionError](err)
			if step.answer != nil && (e == nil || e.Class != steps.EvictionForbidden || !strings.HasSuffix(e.Reason, regrant)) {
				t.Errorf("request %d: %v", i, err)
			}
		}
	})
}

// TestPatience: an API server that does not answer is asked again for a while, and what it decides is final.
func TestPatience(t *testing.T) {
	away := &url.Error{Op: "Get", URL: "https://h", Err: syscall.ECONNREFUSED}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no"))
	denial := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New(`User "bench" cannot get resource`))
	for name, tt := range map[string]struct {
		errs  []error
		asked int
		class steps.EvictionClass
	}{
		"answers":          {[]error{nil}, 1, ""},
		"away for a bit":   {[]error{away, away, nil}, 3, ""},
		"away":             {[]error{away}, 0, steps.EvictionAPILost},
		"busy":             {[]error{apierrors.NewTooManyRequests("later", 1), nil}, 2, ""},
		"forbids":          {[]error{forbidden}, 1, steps.EvictionForbidden},
		"denies for a bit": {[]error{denial, nil}, 2, ""},
		"amounts unnamed": {[]error{apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p",
			errors.New("failed quota: q: must specify limits.cpu"))}, 1, steps.EvictionQuota},
		"quota": {[]error{apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("exceeded quota: gpus"))},
			1, steps.EvictionQuota},
	} {
		opt := Options{Poll: time.Microsecond}
		opt.complete()
		c := &cluster{opt: opt, patience: time.Minute, granted: true}
		if tt.class == steps.EvictionAPILost {
			c.patience = time.Millisecond
		}
		asked := 0
		err := refusal(c.ask(t.Context(), func(context.Context) error {
			asked++
			return tt.errs[min(asked, len(tt.errs))-1]
		}))
		e, _ := errors.AsType[*steps.EvictionError](err)
		if (tt.class == "") != (err == nil) || e != nil && e.Class != tt.class || tt.asked > 0 && asked != tt.asked {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
}

// TestPatienceOfAll: a run that has waited long enough for an API server does not wait again for each Pod that it
// would end, and does for the next absence.
func TestPatienceOfAll(t *testing.T) {
	away := &url.Error{Op: "Get", URL: "https://h", Err: syscall.ECONNREFUSED}
	synctest.Test(t, func(t *testing.T) {
		opt := Options{}
		opt.complete()
		c := &cluster{opt: opt, patience: time.Minute}
		for _, step := range []struct {
			answer error
			once   bool
		}{{away, false}, {away, true}, {away, true}, {nil, true}, {away, false}, {apierrors.NewNotFound(schema.GroupResource{}, "p"), true},
			{away, false}} {
			asked := 0
			_ = c.ask(t.Context(), func(context.Context) error { asked++; return step.answer })
			if (asked == 1) != step.once {
				t.Errorf("%v: asked %d times", step.answer, asked)
			}
		}
	})
	var s silence
	now := time.Unix(0, 0)
	for i, past := range []time.Duration{0, time.Second, 2 * time.Second, time.Hour} {
		if got, want := s.goesOn(now.Add(past), time.Minute), past%time.Hour; got != want {
			t.Errorf("request %d: silent for %s, want %s", i, got, want)
		}
	}
}
