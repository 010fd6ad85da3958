package stack_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/stack"
)

// tool is a spawner of functions that stand for programs. A signal cancels their context.
type tool map[string]func(ctx context.Context, c steps.Command) error

func (t tool) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = t[c.Argv[0]](ctx, c)
	}()
	return p, nil
}

type program struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func (p *program) PID() int                                { return 1 }
func (p *program) Done() <-chan struct{}                   { return p.done }
func (p *program) Wait() error                             { <-p.done; return p.err }
func (p *program) Signal(string) error                     { p.cancel(); return nil }
func (*program) Capabilities() (c steps.ChildCapabilities) { return c }

// record is a log that several programs write.
type record struct {
	mu sync.Mutex
	bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Buffer.Write(p)
}

// TestLogsBeforeDown: down waits for a tool that is slow to find the log, and for no other. A start that fails has a log, too.
func TestLogsBeforeDown(t *testing.T) {
	prints := func(after time.Duration) func(context.Context, steps.Command) error {
		return func(ctx context.Context, c steps.Command) error {
			if err := steps.Sleep(ctx, after); err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "the log")
			<-ctx.Done()
			return nil
		}
	}
	for name, tt := range map[string]struct {
		logs func(context.Context, steps.Command) error
		up   error
		down time.Duration
		want string
	}{
		"at once":       {logs: prints(0), want: "the log\ndown\n"},
		"slow":          {logs: prints(2 * time.Second), down: 2 * time.Second, want: "the log\ndown\n"},
		"silent":        {logs: prints(time.Hour), down: 10 * time.Second, want: "down\n"},
		"has ended":     {logs: func(context.Context, steps.Command) error { return errors.New("no such stack") }, want: "down\n"},
		"up has failed": {logs: prints(2 * time.Second), up: errors.New("no room"), down: 2 * time.Second, want: "the log\ndown\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var down time.Duration
				spawner := tool{
					"up": func(_ context.Context, c steps.Command) error {
						output, _ := steps.Getenv(c.Env, steps.OutputVar)
						return cmp.Or(tt.up, os.WriteFile(output, []byte("url=http://h:8000\n"), 0o600))
					},
					"logs": tt.logs,
					"down": func(_ context.Context, c steps.Command) error {
						down = time.Since(began)
						_, err := fmt.Fprintln(c.Stdout, "down")
						return err
					},
				}
				spec := steps.ServerSpec{Stack: &steps.StackSpec{Up: []string{"up"}, Down: []string{"down"}, Logs: []string{"logs"}}}
				var log record
				l := stack.NewLauncher(spec, stack.Options{Spawner: spawner, Journal: stack.Journal{Dir: t.TempDir()}})
				server, err := l.Start(t.Context(), steps.Process{Argv: spec.Stack.Up}, &log)
				if !errors.Is(err, tt.up) {
					t.Fatal(err)
				}
				if err == nil {
					if err := server.Stop(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if down != tt.down || !strings.HasSuffix(log.String(), tt.want) {
					t.Errorf("down after %s, want %s; log %q, want %q", down, tt.down, &log, tt.want)
				}
			})
		})
	}
}

// TestSecretsOfDown: a record has the names of secrets, and whoever cleans up gives down their values or is told what it lacks.
func TestSecretsOfDown(t *testing.T) {
	var got []steps.EnvVar
	spawner := tool{
		"up": func(context.Context, steps.Command) error { return nil }, // without a url, so that down runs
		"down": func(_ context.Context, c steps.Command) error {
			got = c.Env
			return errors.New("the cluster does not answer")
		},
	}
	spec := steps.ServerSpec{
		Stack: &steps.StackSpec{Up: []string{"up"}, Down: []string{"down"}},
		Env:   []steps.EnvVar{{Name: "CLUSTER", Value: "c1"}, {Name: "TOKEN", Value: "hunter2hunter2", Secret: true}},
	}
	journal := stack.Journal{Dir: t.TempDir()}
	var log record
	if _, err := stack.NewLauncher(spec, stack.Options{Spawner: spawner, Journal: journal}).Start(t.Context(),
		steps.Process{Argv: spec.Stack.Up}, &log); err == nil {
		t.Fatal("down has not failed")
	}
	records, err := journal.Records()
	text := fmt.Sprint(records)
	if err != nil || len(records) != 1 || strings.Contains(text, "hunter2") || !strings.Contains(text, "TOKEN") {
		t.Fatalf("%v, %v", records, err)
	}
	for value, told := range map[string]bool{"hunter2hunter2": false, "": true} {
		log.Reset()
		_, err := journal.Clean(t.Context(), spawner, &log, func(string) string { return value },
			func(stack.Record) bool { return true })
		if err == nil || !strings.Contains(err.Error(), "the cluster does not answer") {
			t.Errorf("clean: %v", err)
		}
		cluster, _ := steps.Getenv(got, "CLUSTER")
		token, _ := steps.Getenv(got, "TOKEN")
		if cluster != "c1" || token != value || strings.Contains(log.String(), "lacks TOKEN") != told {
			t.Errorf("down got %v; log %q", got, &log)
		}
	}
}

// TestCleanTakesOutputs: the outputs of a launch, which may be keys, go with its record if the program was killed during up.
func TestCleanTakesOutputs(t *testing.T) {
	journal := stack.Journal{Dir: t.TempDir()}
	var left []os.DirEntry
	spawner := tool{"down": func(context.Context, steps.Command) error { return nil }}
	spawner["up"] = func(_ context.Context, c steps.Command) error {
		file, _ := steps.Getenv(c.Env, steps.OutputVar)
		if err := os.WriteFile(file, []byte("token=hunter2hunter2\n"), 0o600); err != nil {
			return err
		}
		// As after a kill -9 at this moment.
		_, err := journal.Clean(t.Context(), spawner, io.Discard, os.Getenv, func(stack.Record) bool { return true })
		if err != nil {
			return err
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", file, err)
		}
		left, err = os.ReadDir(journal.Dir)
		return err
	}
	spec := steps.ServerSpec{Stack: &steps.StackSpec{Up: []string{"up"}, Down: []string{"down"}}}
	_, err := stack.NewLauncher(spec, stack.Options{Spawner: spawner, Journal: journal}).Start(t.Context(), steps.Process{Argv: spec.Stack.Up},
		io.Discard)
	if !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
		t.Errorf("%v; left: %v", err, left)
	}
}
