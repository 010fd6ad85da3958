package transformers_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/transformers"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRender(t *testing.T) {
	for name, tt := range map[string]struct {
		spec      steps.ServerSpec
		want, err string
	}{
		"plain": {
			spec: steps.ServerSpec{Model: "m"},
			want: "transformers serve m --host 127.0.0.1 --port 9000",
		},
		"false is negated": {
			spec: steps.ServerSpec{Model: "m", Executable: []string{"/opt/v/bin/transformers"},
				Args: []steps.Arg{{Name: "continuous_batching", Value: true}, {Name: "cb_use_cuda_graph", Value: false}}},
			want: "/opt/v/bin/transformers serve m --host 127.0.0.1 --port 9000 --continuous-batching --no-cb-use-cuda-graph",
		},
		"interpreter": {
			spec: steps.ServerSpec{Model: "m", Executable: []string{"python3.12"}},
			want: "python3.12 -m transformers.cli.transformers serve m --host 127.0.0.1 --port 9000",
		},
		"script": {
			spec: steps.ServerSpec{Model: "m", Executable: []string{"python3", "serve.py"}},
			want: "python3 serve.py m --host 127.0.0.1 --port 9000",
		},
		"no model": {spec: steps.ServerSpec{Addr: "s"}, err: "s: model is not set"},
		"reserved": {spec: steps.ServerSpec{Addr: "s", Model: "m", Args: []steps.Arg{{Name: "port", Value: int64(1)}}}, err: "set port"},
	} {
		p, err := transformers.New().Render(tt.spec, "127.0.0.1", steps.PortNumber(9000))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", name, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, strings.Join(p.Argv, " ")); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// TestReady: the server lists none of the models that it serves, and refuses fields that it does not know.
func TestReady(t *testing.T) {
	loading := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/health":
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		case r.URL.Path == "/v1/models":
			_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
		case r.URL.Path == "/v1/completions" && loading:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v1/completions":
			_, _ = w.Write([]byte(`{"choices":[{"text":" x","index":0,"finish_reason":"length"}],"usage":{"completion_tokens":1}}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	ctx, e, ep := context.Background(), transformers.New(), steps.Endpoint{BaseURL: s.URL, Model: "/models/m"}
	if state, ready, err := e.Ready(ctx, ep, steps.Readiness{}); ready || err == nil || state != steps.StateModels {
		t.Errorf("while it loads: %s, %v, %v", state, ready, err)
	}
	loading = false
	if state, ready, err := e.Ready(ctx, ep, steps.Readiness{}); !ready || state != steps.StateReady {
		t.Errorf("%s, %v, %v", state, ready, err)
	}
	if err := e.Reset(ctx, ep); !errors.Is(err, steps.ErrNoReset) {
		t.Errorf("reset: %v", err)
	}
}

func TestValidate(t *testing.T) {
	k := transformers.Kind()
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  int
	}{
		"model":    {map[string]cty.Value{"model": cty.StringVal("m")}, 0},
		"url":      {map[string]cty.Value{"url": cty.StringVal("http://h")}, 0},
		"no model": {map[string]cty.Value{"executable": cty.StringVal("x")}, 1},
		"nodes":    {map[string]cty.Value{"model": cty.StringVal("m"), "nodes": cty.NumberIntVal(2)}, 1},
		"key":      {map[string]cty.Value{"model": cty.StringVal("m"), "api_key": cty.StringVal("k")}, 1},
	} {
		if got := k.Validate(steps.Object{Attrs: tt.attrs}); len(got) != tt.want {
			t.Errorf("%s: %v, want %d problems", name, got, tt.want)
		}
	}
}
