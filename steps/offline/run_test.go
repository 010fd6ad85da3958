package offline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/offline"
)

// place is a place whose one program a function plays. The program gets what it was started with, and returns how it ended.
type place struct {
	plays   func(p steps.Process, log io.Writer) string // "" for a program that hangs
	stopped int
}

func (l *place) Capabilities() steps.LauncherCapabilities { return steps.LauncherCapabilities{} }

func (l *place) Start(_ context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	r := &running{place: l, done: make(chan struct{})}
	go func() {
		if r.state = l.plays(p, log); r.state != "" {
			close(r.done)
		}
	}()
	return r, nil
}

type running struct {
	*place
	state string
	done  chan struct{}
}

func (r *running) BaseURL() string                            { return "" }
func (r *running) Done() <-chan struct{}                      { return r.done }
func (r *running) ExitState() string                          { return r.state }
func (r *running) Stop(context.Context) error                 { r.stopped++; return nil }
func (r *running) Capabilities() (c steps.ServerCapabilities) { return c }

// prints plays a program whose output has a mark where text has MARK. The words behind the script are the path of its file,
// the mark, and the program.
func prints(text string) func(steps.Process, io.Writer) string {
	return func(p steps.Process, log io.Writer) string {
		for _, part := range strings.SplitAfter(strings.ReplaceAll(text, "MARK", p.Argv[5]), "e") { // in pieces
			_, _ = io.WriteString(log, part)
		}
		return "exit status 0"
	}
}

func TestRun(t *testing.T) {
	late := errors.New("too late")
	for name, tt := range map[string]struct {
		plays func(steps.Process, io.Writer) string
		want  string
		err   string
		fails bool // by the program's fault
	}{
		"writes": {plays: prints("a log\nMARK:{\nMARK:  \"one\": 1}\nMARK end\n"), want: "{\n  \"one\": 1}\n"},
		"others print": {
			plays: prints("half a lineMARK:{\nUserWarning: leaked memory\n  warn()\nMARK:}\nMARK end\nmore\n"),
			want:  "{\n}\n",
		},
		"prints an imitation": {plays: prints("MARK:pipeline-0123 end\nMARK:}\nMARK end\n"), want: "pipeline-0123 end\n}\n"},
		"fails": {
			plays: func(steps.Process, io.Writer) string { return "exit status 1" },
			err:   "it ended with exit status 1", fails: true,
		},
		"is silent":  {plays: prints("a log\n"), err: "succeeded without writing driver.output"},
		"is cut off": {plays: prints("MARK:{\nMARK:"), err: "incomplete"},
		"hangs":      {plays: func(steps.Process, io.Writer) string { return "" }, err: "too late", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, log := &place{plays: tt.plays}, new(bytes.Buffer)
				p := steps.Process{Argv: []string{"vllm", offline.Words, "--model", "m"}}
				server, err := offline.New().Capabilities().Programs(l).Start(t.Context(), p, log)
				if err != nil {
					t.Fatal(err)
				}
				ctx, end := context.WithCancelCause(t.Context())
				go func() { synctest.Wait(); end(late) }()
				got, err := server.Capabilities().Run(ctx, []string{"bench", "latency"}, "/tmp/x/out.json")
				_, fails := errors.AsType[*steps.ProgramError](err)
				if string(got) != tt.want || fails != tt.fails || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) ||
					tt.err == "" && err != nil {
					t.Errorf("%q, %v", got, err)
				}
				if l.stopped != 1 {
					t.Errorf("stopped %d times", l.stopped)
				}
				if steps.Ended(server.Done()) {
					t.Error("the target ended with its run")
				}
			})
		})
	}
}

// TestCommandLine: the benchmark's words stand behind the program, and the flags of the side behind them.
func TestCommandLine(t *testing.T) {
	spec := steps.ServerSpec{Executable: []string{"base/vllm"}, Model: "m", Args: []steps.Arg{{Name: "enforce_eager", Value: true}}}
	p, err := offline.New().Render(spec, "127.0.0.1", steps.PortNumber(9000))
	if err != nil {
		t.Fatal(err)
	}
	l := &place{}
	l.plays = func(p steps.Process, _ io.Writer) string {
		if got := strings.Join(p.Argv[6:], " "); got != "base/vllm bench latency --model m --enforce-eager" || p.Argv[4] != "/tmp/x/out.json" {
			t.Errorf("%q", p.Argv)
		}
		return "exit status 1"
	}
	server, err := offline.New().Capabilities().Programs(l).Start(t.Context(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Capabilities().Run(t.Context(), []string{"bench", "latency"}, "/tmp/x/out.json"); err == nil {
		t.Error("it has not failed")
	}
}
