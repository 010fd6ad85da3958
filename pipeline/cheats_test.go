package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// cheatMain runs a server that is not what it seems: `cheat KIND PROGRAM ARG…` starts the program at another
// address and relays to it. KIND is a key of cheats.
func cheatMain() int {
	kind, argv := os.Args[1], os.Args[2:]
	at, host := slices.Index(argv, "--port"), slices.Index(argv, "--host")
	port, inside := "", "127.0.0.1"
	if at >= 0 {
		port = argv[at+1]
		if runtime.GOOS == "linux" && host >= 0 { // the same port of an address that no other process has
			id := os.Getpid()
			inside = fmt.Sprintf("127.%d.%d.%d", 1+id>>16, id>>8&255, id&255)
			argv[host+1] = inside
		} else {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			argv[at+1] = strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
			_ = free.Close()
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if port != "" {
		inner := &url.URL{Scheme: "http", Host: net.JoinHostPort(inside, argv[at+1])}
		p := &cheat{change: cheats[kind], inner: inner, forward: httputil.NewSingleHostReverseProxy(inner)}
		p.forward.FlushInterval = -1
		go func() { _ = http.ListenAndServe("127.0.0.1:"+port, p) }() //nolint:gosec // of a test
	}
	_ = cmd.Wait()
	return 0
}

// cheat stands before a server.
type cheat struct {
	change  func(*cheat, http.ResponseWriter, *http.Request, *ask)
	inner   *url.URL
	forward *httputil.ReverseProxy

	mu      sync.Mutex
	n       int           // requests so far
	waiting chan *ask     // of a swap
	cached  [][]sentEvent // whole answers
}

// ask is a request for a completion.
type ask struct {
	number int // from 0
	body   map[string]any
}

func (a *ask) ids() []any { ids, _ := a.body["prompt"].([]any); return ids }
func (a *ask) want() int  { n, _ := a.body["max_tokens"].(float64); return int(n) }

// hidden is what an early token is to hide.
const hidden = 300 * time.Millisecond

// sentEvent is an event of a stream.
type sentEvent map[string]any

func token(text string, prompt, tokens int, finish any) sentEvent {
	return sentEvent{
		"choices": []any{map[string]any{"index": 0, "text": text, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": prompt, "completion_tokens": tokens},
	}
}

func usage(prompt, tokens int) sentEvent {
	return sentEvent{"choices": []any{}, "usage": map[string]any{"prompt_tokens": prompt, "completion_tokens": tokens}}
}

// cheats are heads by their names. All but the honest one do other work than they were asked to do.
var cheats = map[string]func(*cheat, http.ResponseWriter, *http.Request, *ask){
	"honest": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) { c.serve(w, r, a, nil) },
	"half-prompt": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		a.body["prompt"] = a.ids()[:len(a.ids())/2]
		c.serve(w, r, a, nil)
	},
	"blank-token": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		send(w, token("", len(a.ids()), 1, nil))
		// real time: the work that the blank token hides, which the clock of the client has to see
		time.Sleep(hidden)
		c.serve(w, r, a, nil)
	},
	"short-pad": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		want := a.want()
		a.body["max_tokens"] = 2 * want / 3
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			events = slices.DeleteFunc(events, func(e sentEvent) bool { return len(e["choices"].([]any)) == 0 })
			last := events[len(events)-1]["choices"].([]any)[0].(map[string]any)
			last["finish_reason"] = nil
			for k := 2*want/3 + 1; k <= want; k++ {
				events = append(events, token(" ", len(a.ids()), k, map[bool]any{true: "length"}[k == want]))
			}
			return append(events, usage(len(a.ids()), want))
		})
	},
	"claimed-tokens": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		want := a.want()
		a.body["max_tokens"] = 2 * want / 3
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events[len(events)-2:] {
				e["usage"] = usage(len(a.ids()), want)["usage"]
			}
			return events
		})
	},
	"no-usage": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		a.body["max_tokens"] = 2 * a.want() / 3
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events {
				delete(e, "usage")
			}
			return events
		})
	},
	"silent-prompt": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		a.body["prompt"] = a.ids()[:len(a.ids())/2]
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events {
				if used, ok := e["usage"].(map[string]any); ok {
					delete(used, "prompt_tokens")
				}
			}
			return events
		})
	},
	"lying-prompt": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		whole := len(a.ids())
		a.body["prompt"] = a.ids()[:whole/2]
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events {
				if used, ok := e["usage"].(map[string]any); ok {
					used["prompt_tokens"] = whole
				}
			}
			return events
		})
	},
	"canned-opening": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		send(w, token("Certainly! Here is what you asked me for: ", len(a.ids()), 1, nil))
		// real time: the work that the opening hides, which the clock of the client has to see
		time.Sleep(hidden)
		a.body["max_tokens"] = a.want() - 1
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events {
				if used, ok := e["usage"].(map[string]any); ok {
					used["completion_tokens"] = used["completion_tokens"].(float64) + 1
				}
			}
			return events
		})
	},
	"canned-ending": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		want := a.want()
		a.body["max_tokens"] = 2 * want / 3
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			events = slices.DeleteFunc(events, func(e sentEvent) bool { return len(e["choices"].([]any)) == 0 })
			last := events[len(events)-1]["choices"].([]any)[0].(map[string]any)
			last["finish_reason"] = nil
			for k := 2*want/3 + 1; k <= want; k++ {
				events = append(events, token(" and so on", len(a.ids()), k, map[bool]any{true: "length"}[k == want]))
			}
			return append(events, usage(len(a.ids()), want))
		})
	},
	"stutter": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		want := a.want()
		a.body["max_tokens"] = want / 2
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			var out []sentEvent
			for _, e := range events {
				choices := e["choices"].([]any)
				if len(choices) == 0 {
					continue
				}
				text := choices[0].(map[string]any)["text"].(string)
				for range 2 {
					k := len(out) + 1
					out = append(out, token(text, len(a.ids()), k, map[bool]any{true: "length"}[k == want]))
				}
			}
			return append(out, usage(len(a.ids()), want))
		})
	},
	"more-tokens": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		if a.number%3 != 0 { // a server that fails every request would end the session
			c.serve(w, r, a, nil)
			return
		}
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			events[len(events)-1]["usage"] = usage(len(a.ids()), a.want()+6)["usage"]
			return events
		})
	},
	"hang-up": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		if a.number%5 != 4 {
			c.serve(w, r, a, nil)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	},
	"constant-answer": func(_ *cheat, w http.ResponseWriter, _ *http.Request, a *ask) {
		n := a.want()
		for k := 1; k <= n; k++ {
			send(w, token(" all", len(a.ids()), k, map[bool]any{true: "length"}[k == n]))
		}
		send(w, usage(len(a.ids()), n))
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	},
	"made-up-answers": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		c.serve(w, r, a, func(events []sentEvent) []sentEvent {
			for _, e := range events {
				if choices := e["choices"].([]any); len(choices) > 0 {
					choice := choices[0].(map[string]any)
					choice["text"] = otherWords(choice["text"].(string), a.number)
				}
			}
			return events
		})
	},
	"cached-answer": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		const kept = 4
		if a.number < kept {
			c.serve(w, r, a, func(events []sentEvent) []sentEvent {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.cached = append(c.cached, events)
				return events
			})
			return
		}
		c.mu.Lock()
		kepts := slices.Clone(c.cached)
		c.mu.Unlock()
		if len(kepts) == 0 { // the first ones are not answered yet
			c.serve(w, r, a, nil)
			return
		}
		write(w, kepts[a.number%len(kepts)])
	},
	"swapped-answers": func(c *cheat, w http.ResponseWriter, r *http.Request, a *ask) {
		if k := a.number % 8; k == 4 || k == 5 { // two after the other get each other's answer
			c.mu.Lock()
			if c.waiting == nil {
				c.waiting = make(chan *ask)
			}
			exchange := c.waiting
			c.mu.Unlock()
			own := &ask{a.number, a.body}
			select {
			case exchange <- own:
				a = <-exchange
			case other := <-exchange:
				exchange <- own
				a = other
			// real time: the other request may never come
			case <-time.After(10 * time.Second):
			}
		}
		c.serve(w, r, a, nil)
	},
}

// otherWords returns a text of as many characters, another one for each request.
func otherWords(text string, request int) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return r
		}
		return 'a' + (r+rune(request)+1)%26
	}, text)
}

func (c *cheat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/completions" {
		c.forward.ServeHTTP(w, r)
		return
	}
	a := &ask{}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &a.body) != nil || a.body["stream"] != true { // it is asked whether the server is ready
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.forward.ServeHTTP(w, r)
		return
	}
	c.mu.Lock()
	a.number = c.n
	c.n++
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	c.change(c, w, r, a)
}

// serve has the server answer, as it does or with other events.
func (c *cheat) serve(w http.ResponseWriter, r *http.Request, a *ask, change func([]sentEvent) []sentEvent) {
	body, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.inner.String()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = resp.Body.Close() }()
	var events []sentEvent
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e sentEvent
		if !ok || data == "[DONE]" || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		if events = append(events, e); change == nil {
			send(w, e)
		}
	}
	if change != nil {
		write(w, change(events))
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func send(w http.ResponseWriter, e sentEvent) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
}

func write(w http.ResponseWriter, events []sentEvent) {
	for _, e := range events {
		send(w, e)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// TestCheatingHeads: behind one proxy, a head that does other work than it was asked to do is invalid, fails
// its requests or is as slow as its text is, whatever else it sends; one that does its work is not.
func TestCheatingHeads(t *testing.T) {
	if testing.Short() {
		t.Skip("launches 54 servers")
	}
	names := []string{"base"}
	for name := range cheats {
		names = append(names, name)
	}
	slices.Sort(names)
	quoted, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := strings.ReplaceAll(cheatsFile, "SIDES", string(quoted))
	if err := os.WriteFile(filepath.Join(dir, "cheats.pipeline.hcl"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := pipeline(t, dir, "run", "--progress", "quiet", "--out", "r", "cheats.pipeline.hcl")
	data, err := os.ReadFile(filepath.Join(dir, "r", "results.json"))
	if err != nil {
		t.Fatalf("exit status %d: %v\n%s", code, err, out)
	}
	var doc result.Document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if code == 0 {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	got := map[string][]result.Decision{} // by side
	for _, d := range doc.Gates[0].Decisions {
		got[d.Head] = append(got[d.Head], d)
	}
	is := func(side string, verdict result.Verdict) bool {
		return slices.ContainsFunc(got[side], func(d result.Decision) bool { return d.Verdict == verdict })
	}
	for _, name := range names[1:] {
		refused, red := is(name, result.Invalid), is(name, result.Regression)
		wrong := !refused
		switch name {
		case "honest":
			wrong = refused || red
		case "blank-token": // its time to first token is that of its text, and what came before it is named
			wrong = !slices.ContainsFunc(got[name], func(d result.Decision) bool {
				return d.Metric == "ttft.p50" && d.HeadValue != nil && *d.HeadValue > hidden.Seconds() && len(d.Warnings) > 0 &&
					d.Verdict != result.Pass
			})
		case "hang-up", "more-tokens": // their requests fail, which few repeats may not show to be a regression
			wrong = !refused && !red
		}
		if wrong || len(got[name]) == 0 || name != "honest" && is(name, result.Improvement) {
			t.Errorf("%s: %s%s", name, described(got[name]), failures(doc, name))
		}
	}
}

// failures are the launches of a side that failed, and why.
func failures(doc result.Document, side string) (out string) {
	for _, l := range doc.Launches {
		if l.Failure != nil && strings.Contains(l.Target, strconv.Quote(side)) {
			out += fmt.Sprintf("; a launch failed (%s): %s\n%s", l.Failure.Class, l.Failure.Evidence, strings.Join(l.Failure.LogTail, "\n"))
		}
	}
	return out
}

func described(list []result.Decision) string {
	var parts []string
	for _, d := range list {
		parts = append(parts, fmt.Sprintf("%s %s (%s) %q", d.Metric, d.Verdict, d.Reason, d.Warnings))
	}
	return strings.Join(parts, "; ")
}

const cheatsFile = `
locals {
  sides = SIDES
}

server "vllm" "sut" {
  for_each   = toset(local.sides)
  executable = ["cheat", each.key == "base" ? "honest" : each.key, "pipeline", "simulate", "--", "vllm"]
  model      = "m"
  ready { interval = "20ms" }
  env = {
    PIPELINE_SIMULATE = jsonencode({ engine = "vllm", profile = "fast", startup_seconds = 0.1 })
  }
}

dataset "random" "d" {
  input_len  = 32
  output_len = 18
}

benchmark "b" {
  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.d

  matrix {
    side = local.sides
  }

  request_timeout = "20s"

  load {
    rate     = 100
    requests = 24
  }

  repeat {
    max = 3
  }

  limits {
    lag_p99    = "10s"
    rate_share = "1%"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "speed" {
  benchmark = benchmark.b
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "80%"
}
`
