package request_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/request"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(url string, attrs map[string]cty.Value, attempts int64) steps.Object {
	o := steps.Object{Attrs: map[string]cty.Value{
		"url": cty.StringVal(url), "method": cty.StringVal("GET"),
		"timeout": cty.NumberIntVal(request.DefaultTimeout.Nanoseconds()),
	}}
	maps.Copy(o.Attrs, attrs)
	if attempts > 0 {
		o.Blocks = map[string][]steps.Object{"retry": {{Attrs: map[string]cty.Value{
			"attempts": cty.NumberIntVal(attempts), "interval": cty.NumberIntVal(int64(time.Minute)),
		}}}}
	}
	return o
}

// run runs a step by a clock that waits pass at once, and returns how long it took. Its server is outside of that
// clock, and the action keeps no connections.
func run(t *testing.T, ctx context.Context, env steps.ActionEnv, obj steps.Object) (got map[string]string, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		got, err = request.New().Run(ctx, env, obj)
		took = time.Since(began)
	})
	return got, took, err
}

// ask asks an address once.
func ask(url string, attrs map[string]cty.Value) (map[string]string, error) {
	return request.New().Run(context.Background(), steps.ActionEnv{}, object(url, attrs, 0))
}

func TestRun(t *testing.T) {
	strs := func(m map[string]string) cty.Value {
		vals := map[string]cty.Value{}
		for k, v := range m {
			vals[k] = cty.StringVal(v)
		}
		return cty.MapVal(vals)
	}
	tests := map[string]struct {
		attrs    map[string]cty.Value
		attempts int64
		answers  []string // "status body"; the last one repeats
		want     map[string]string
		asked    int
		request  string // method, content type, header and body of the last one
		err      string
	}{
		"get": {answers: []string{"200 ok"}, want: map[string]string{}, asked: 1, request: "GET||"},
		"post json": {
			attrs: map[string]cty.Value{"method": cty.StringVal("POST"),
				"body": cty.ObjectVal(map[string]cty.Value{"gpu": cty.StringVal("h100"), "n": cty.NumberIntVal(2)})},
			answers: []string{"201"}, want: map[string]string{}, asked: 1, request: `POST|application/json|{"gpu":"h100","n":2}`,
		},
		"post text": {
			attrs:   map[string]cty.Value{"method": cty.StringVal("POST"), "body": cty.StringVal("<x>")},
			answers: []string{"200"}, want: map[string]string{}, asked: 1, request: "POST||<x>",
		},
		"outputs": {
			attrs:   map[string]cty.Value{"outputs": strs(map[string]string{"id": "/data/0/id", "all": "/data", "n": "/n"})},
			answers: []string{`200 {"data":[{"id":"x"}],"n":12345678901234567890}`},
			want:    map[string]string{"id": "x", "all": `[{"id":"x"}]`, "n": "12345678901234567890"}, asked: 1,
		},
		"output missing": {
			attrs:   map[string]cty.Value{"outputs": strs(map[string]string{"id": "/data/1"})},
			answers: []string{`200 {"data":[1]}`}, asked: 1, err: "output id: the answer has nothing at /data/1",
		},
		"not JSON": {
			attrs:   map[string]cty.Value{"outputs": strs(map[string]string{"id": "/id"})},
			answers: []string{`200 <html>`}, asked: 1, err: "the answer is not JSON",
		},
		"status": {answers: []string{"404 no"}, attempts: 3, asked: 1, err: "status 404 was not expected"},
		"expected status": {
			attrs:   map[string]cty.Value{"expect_status": cty.TupleVal([]cty.Value{cty.NumberIntVal(404), cty.NumberIntVal(200)})},
			answers: []string{"404"}, want: map[string]string{}, asked: 1,
		},
		"2xx not expected": {
			attrs:   map[string]cty.Value{"expect_status": cty.NumberIntVal(204)},
			answers: []string{"200"}, asked: 1, err: "status 200 was not expected",
		},
		"retried":      {answers: []string{"503", "429", "200"}, attempts: 3, want: map[string]string{}, asked: 3},
		"tired":        {answers: []string{"503"}, attempts: 2, asked: 2, err: "status 503"},
		"not repeated": {answers: []string{"503"}, asked: 1, err: "status 503"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked, last := 0, ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := tt.answers[min(asked, len(tt.answers)-1)]
				asked++
				body, _ := io.ReadAll(r.Body)
				last = r.Method + "|" + r.Header.Get("Content-Type") + "|" + string(body)
				if r.Header.Get("Authorization") != "Bearer k" {
					t.Error("the header is missing")
				}
				code, text, _ := strings.Cut(answer, " ")
				var status int
				if _, err := fmt.Sscan(code, &status); err != nil {
					t.Error(err)
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(text))
			}))
			defer s.Close()
			obj := object(s.URL+"/path?key=secret", tt.attrs, tt.attempts)
			obj.Attrs["headers"] = cty.MapVal(map[string]cty.Value{"Authorization": cty.StringVal("Bearer k").WithMarks(
				cty.NewValueMarks("sensitive"))})
			var log bytes.Buffer
			got, took, err := run(t, context.Background(), steps.ActionEnv{Log: &log}, obj)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); tt.err == "" && diff != "" {
				t.Error(diff)
			}
			if asked != tt.asked || took != time.Duration(asked-1)*time.Minute {
				t.Errorf("asked %d times in %v, want %d", asked, took, tt.asked)
			}
			if tt.request != "" && last != tt.request {
				t.Errorf("sent %s, want %s", last, tt.request)
			}
			if text := log.String() + fmt.Sprint(err); strings.Contains(text, "secret") || strings.Contains(text, "Bearer") {
				t.Errorf("the log or the error shows what it should not: %s", text)
			}
			if lines := strings.Count(log.String(), "\n"); lines != asked {
				t.Errorf("%d lines of log for %d attempts", lines, asked)
			}
		})
	}
}

func TestRunWithoutServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, took, err := run(t, context.Background(), steps.ActionEnv{}, object(s.URL+"/?key=secret", nil, 3))
	if err == nil || took != 2*time.Minute || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v after %v", err, took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := run(t, ctx, steps.ActionEnv{}, object(s.URL, nil, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	var away bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { away = true }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/clear":
			http.Redirect(w, r, "http://"+r.Host+"/there", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	}))
	defer s.Close()
	encrypted := httptest.NewTLSServer(s.Config.Handler)
	defer encrypted.Close()
	if runtime.GOOS == "linux" { // where a variable names the trusted certificates
		trusted := filepath.Join(t.TempDir(), "trusted.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw})
		if err := os.WriteFile(trusted, text, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("SSL_CERT_FILE", trusted)
		if _, err := ask(encrypted.URL+"/clear", nil); err == nil || !strings.Contains(err.Error(), "302") {
			t.Errorf("to the same host in the clear: %v", err)
		}
	}
	if _, err := ask(s.URL+"/here", nil); err != nil {
		t.Errorf("on the same host: %v", err)
	}
	if _, err := ask(s.URL+"/away", nil); err == nil || away {
		t.Errorf("to another host: %v, followed %v", err, away)
	}
}

// found returns where a pointer leads in the answers of a server.
func found(url, pointer string) (string, error) {
	got, err := ask(url, map[string]cty.Value{"outputs": cty.MapVal(map[string]cty.Value{"x": cty.StringVal(pointer)})})
	return got["x"], err
}

// The cases of RFC 6901 section 5.
func TestPointers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`)
	}))
	defer s.Close()
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": "bar", "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3",
		"/g|h": "4", "/i\\j": "5", "/k\"l": "6", "/ ": "7", "/m~0n": "8",
	} {
		if got, err := found(s.URL, pointer); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", pointer, got, err, want)
		}
	}
	if got, err := found(s.URL, ""); err != nil || !strings.HasPrefix(got, "{") {
		t.Errorf("the whole document: %s, %v", got, err)
	}
	for _, pointer := range []string{"foo", "/nothing", "/foo/2", "/foo/-1", "/foo/01", "/foo/-", "/foo/0/x", "/m~n", "/m~"} {
		if got, err := found(s.URL, pointer); err == nil {
			t.Errorf("%s: got %s", pointer, got)
		}
	}
}

func FuzzPointers(f *testing.F) {
	f.Add(`{"a":[1]}`, "/a/0")
	f.Add(`[]`, "/~1~0")
	var body atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body.Load().(string)) }))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, text, pointer string) {
		body.Store(text)
		obj := object(s.URL, map[string]cty.Value{"outputs": cty.MapVal(map[string]cty.Value{"x": cty.StringVal(pointer)})}, 0)
		if _, err := found(s.URL, pointer); err == nil && len(request.Kind().Validate(obj)) > 0 {
			t.Errorf("pointer %q is wrong and leads somewhere", pointer)
		}
	})
}

func TestValidate(t *testing.T) {
	k := request.Kind()
	if k.Block != "step" || k.Name != "http" || k.Doc == "" {
		t.Errorf("%s %s", k.Block, k.Name)
	}
	for _, a := range append(k.Schema.Attrs, k.Schema.Blocks[0].Schema.Attrs...) {
		if a.Doc == "" {
			t.Errorf("%s has no doc", a.Name)
		}
	}
	for name, tt := range map[string]struct {
		obj  steps.Object
		want string
	}{
		"fine":        {object("https://h/x", nil, 2), ""},
		"not known":   {object("", map[string]cty.Value{"url": cty.UnknownVal(cty.String), "body": cty.DynamicVal}, 0), "body"},
		"no scheme":   {object("h/x", nil, 0), "url"},
		"password":    {object("http://me:pw@h/x", nil, 0), "url"},
		"body of GET": {object("http://h", map[string]cty.Value{"body": cty.StringVal("x")}, 0), "body"},
		"status":      {object("http://h", map[string]cty.Value{"expect_status": cty.NumberIntVal(1000)}, 0), "expect_status"},
		"status text": {object("http://h", map[string]cty.Value{"expect_status": cty.StringVal("2xx")}, 0), "expect_status"},
		"timeout":     {object("http://h", map[string]cty.Value{"timeout": cty.Zero}, 0), "timeout"},
		"attempts":    {object("http://h", nil, -1), ""},
		"pointer": {object("http://h", map[string]cty.Value{"outputs": cty.MapVal(map[string]cty.Value{"id": cty.StringVal("id")})}, 0),
			"outputs.id"},
	} {
		if name == "attempts" {
			tt.obj = object("http://h", nil, 1)
			tt.obj.Blocks["retry"][0].Attrs["attempts"] = cty.NumberFloatVal(1.5)
			tt.want = "retry.attempts"
		}
		var got []string
		for _, p := range k.Validate(tt.obj) {
			got = append(got, strings.Join(p.Path, "."))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: problems at %v, want %s", name, got, tt.want)
		}
	}
}
