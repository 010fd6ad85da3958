package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(url string, attrs map[string]cty.Value, attempts int64) steps.Object {
	o := steps.Object{Attrs: map[string]cty.Value{
		"url": cty.StringVal(url), "method": cty.StringVal("GET"),
		"timeout": cty.NumberIntVal(DefaultTimeout.Nanoseconds()),
	}}
	maps.Copy(o.Attrs, attrs)
	if attempts > 0 {
		o.Blocks = map[string][]steps.Object{"retry": {{Attrs: map[string]cty.Value{
			"attempts": cty.NumberIntVal(attempts), "interval": cty.NumberIntVal(int64(time.Minute)),
		}}}}
	}
	return o
}

// action whose clock stands still and whose waits take no time.
func action(waits *int) *Action {
	a := New()
	a.now = func() time.Time { return time.Time{} }
	a.wait = func(ctx context.Context, _ time.Duration) error { *waits++; return ctx.Err() }
	return a
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
			asked, waits, last := 0, 0, ""
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
			got, err := action(&waits).Run(context.Background(), steps.ActionEnv{Log: &log}, obj)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); tt.err == "" && diff != "" {
				t.Error(diff)
			}
			if asked != tt.asked || waits != asked-1 {
				t.Errorf("asked %d times with %d waits, want %d", asked, waits, tt.asked)
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
	waits := 0
	_, err := action(&waits).Run(context.Background(), steps.ActionEnv{}, object(s.URL+"/?key=secret", nil, 3))
	if err == nil || waits != 2 || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v after %d waits", err, waits)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := action(&waits).Run(ctx, steps.ActionEnv{}, object(s.URL, nil, 3)); !errors.Is(err, context.Canceled) {
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
	waits := 0
	secure := action(&waits)
	secure.client.Transport = encrypted.Client().Transport
	if _, err := secure.Run(context.Background(), steps.ActionEnv{}, object(encrypted.URL+"/clear", nil, 0)); err == nil ||
		!strings.Contains(err.Error(), "302") {
		t.Errorf("to the same host in the clear: %v", err)
	}
	if _, err := action(&waits).Run(context.Background(), steps.ActionEnv{}, object(s.URL+"/here", nil, 0)); err != nil {
		t.Errorf("on the same host: %v", err)
	}
	if _, err := action(&waits).Run(context.Background(), steps.ActionEnv{}, object(s.URL+"/away", nil, 0)); err == nil || away {
		t.Errorf("to another host: %v, followed %v", err, away)
	}
}

// The cases of RFC 6901 section 5.
func TestLookup(t *testing.T) {
	doc, err := decode([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": "bar", "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3",
		"/g|h": "4", "/i\\j": "5", "/k\"l": "6", "/ ": "7", "/m~0n": "8",
	} {
		if got, err := lookup(doc, pointer); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", pointer, got, err, want)
		}
	}
	if got, err := lookup(doc, ""); err != nil || !strings.HasPrefix(got, "{") {
		t.Errorf("the whole document: %s, %v", got, err)
	}
	for _, pointer := range []string{"foo", "/nothing", "/foo/2", "/foo/-1", "/foo/01", "/foo/-", "/foo/0/x", "/m~n", "/m~"} {
		if got, err := lookup(doc, pointer); err == nil {
			t.Errorf("%s: got %s", pointer, got)
		}
	}
}

func FuzzLookup(f *testing.F) {
	f.Add(`{"a":[1]}`, "/a/0")
	f.Add(`[]`, "/~1~0")
	f.Fuzz(func(t *testing.T, text, pointer string) {
		doc, err := decode([]byte(text))
		if err != nil {
			return
		}
		if _, err := lookup(doc, pointer); err == nil && checkPointer(pointer) != nil {
			t.Errorf("pointer %q is wrong and leads somewhere", pointer)
		}
	})
}

func TestValidate(t *testing.T) {
	k := Kind()
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
