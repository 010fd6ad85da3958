package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/openai"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRender(t *testing.T) {
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
		own  bool // behind the image's own entrypoint
		err  string
	}{
		"flags added": {
			spec: steps.ServerSpec{Executable: []string{"server"}, Args: []steps.Arg{{Name: "ctx_size", Value: int64(1)},
				{Name: "mlock", Value: false}}},
			want: "server --host 127.0.0.1 --port 9000 --ctx-size 1",
		},
		"placeholders": {
			spec: steps.ServerSpec{Executable: []string{"llama-server", "-m", "{model}", "--listen={host}:{port}"}, Model: "m.gguf"},
			want: "llama-server -m m.gguf --listen=127.0.0.1:9000",
		},
		"image": {
			spec: steps.ServerSpec{Image: "ghcr.io/ggml-org/llama.cpp:server", Args: []steps.Arg{{Name: "ctx_size", Value: int64(1)}}},
			want: "--host 0.0.0.0 --port 9000 --ctx-size 1", own: true,
		},
		"image with a program": {
			spec: steps.ServerSpec{Image: "i", Container: &steps.ContainerSpec{Network: steps.NetworkHost, Entrypoint: []string{"serve",
				"{host}:{port}"}}},
			want: "serve 127.0.0.1:9000",
		},
		"no program": {spec: steps.ServerSpec{Addr: "s"},
			err: "s: neither executable, image nor url is set; name the program, or the address of one that runs"},
		"reserved": {spec: steps.ServerSpec{Addr: "s", Executable: []string{"x"}, Args: []steps.Arg{{Name: "port", Value: int64(1)}}},
			err: "write {port} in executable"},
	} {
		p, err := openai.New().Render(tt.spec, tt.spec.ListenHost(), steps.PortNumber(9000))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(p.Argv, " ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if image := tt.spec.Image != ""; (p.Container != nil) != image || image && (p.Container.Image != tt.spec.Image ||
			p.Container.OwnEntrypoint != tt.own) {
			t.Errorf("%s: container %+v", name, p.Container)
		}
	}
}

func TestAgainstServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/up":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/v1/models":
			_, _ = w.Write([]byte(`{"data":[{"id":"m","root":"r"}]}`))
		case "/v1/chat/completions":
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":1}}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	ctx, e, ep := context.Background(), openai.New(), steps.Endpoint{BaseURL: s.URL, Model: "m"}
	if state, ready, err := e.Ready(ctx, ep, steps.Readiness{}); !ready || state != steps.StateReady {
		t.Errorf("%s, %v, %v", state, ready, err)
	}
	if state, ready, _ := e.Ready(ctx, ep, steps.Readiness{Path: "/up"}); ready || state != steps.StateListening {
		t.Errorf("the file's own path counts: %s, %v", state, ready)
	}
	if err := e.Reset(ctx, ep); !errors.Is(err, steps.ErrNoReset) {
		t.Errorf("reset: %v", err)
	}
	got, err := e.Describe(ctx, ep)
	if diff := cmp.Diff(map[string]string{"model": "m", "model_root": "r"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	s.Close()
	if _, err := e.Describe(ctx, ep); err == nil {
		t.Error("a server that is gone has no description")
	}
}

func TestClassify(t *testing.T) {
	if class, evidence := openai.New().Classify([]string{"bind: address already in use"}); class != "port_in_use" || evidence == "" {
		t.Errorf("got %s, %q", class, evidence)
	}
}

func TestValidate(t *testing.T) {
	k := openai.Kind()
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		want  int
	}{
		"url":        {map[string]cty.Value{"url": cty.StringVal("http://h")}, 0},
		"executable": {map[string]cty.Value{"executable": cty.StringVal("x")}, 0},
		"neither":    {map[string]cty.Value{"model": cty.StringVal("m")}, 1},
		"nodes":      {map[string]cty.Value{"executable": cty.StringVal("x"), "nodes": cty.NumberIntVal(2)}, 1},
	} {
		if got := k.Validate(steps.Object{Attrs: tt.attrs}); len(got) != tt.want {
			t.Errorf("%s: %v, want %d problems", name, got, tt.want)
		}
	}
	if k.Block != "server" || k.Name != openai.Name {
		t.Errorf("kind is %s %s", k.Block, k.Name)
	}
}
