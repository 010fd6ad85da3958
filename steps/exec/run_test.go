//go:build unix

package exec_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/exec"
	"github.com/zclconf/go-cty/cty"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spawner starts processes in groups of their own, with their own environment only.
type spawner struct{}

func (spawner) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	cmd := osexec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ch := &child{cmd: cmd, done: make(chan struct{})}
	go func() { ch.err = cmd.Wait(); close(ch.done) }()
	return ch, nil
}

type child struct {
	cmd  *osexec.Cmd
	done chan struct{}
	err  error
}

func (c *child) PID() int                            { return c.cmd.Process.Pid }
func (*child) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (c *child) Done() <-chan struct{}               { return c.done }
func (c *child) Wait() error                         { <-c.done; return c.err }
func (c *child) Signal(name string) error {
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[name]
	if err := syscall.Kill(-c.PID(), sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// step makes the object of a step that runs a script.
func step(script string, more map[string]cty.Value) steps.Object {
	attrs := map[string]cty.Value{
		"command": cty.ListVal([]cty.Value{cty.StringVal("sh"), cty.StringVal("-c"), cty.StringVal(script)}),
		"timeout": cty.NumberIntVal(exec.DefaultTimeout.Nanoseconds()),
	}
	maps.Copy(attrs, more)
	return steps.Object{Attrs: attrs}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	names := func(list ...string) cty.Value {
		vals := make([]cty.Value, len(list))
		for i, n := range list {
			vals[i] = cty.StringVal(n)
		}
		return cty.SetVal(vals)
	}
	tests := map[string]struct {
		obj  steps.Object
		want map[string]string
		log  string
		err  string
	}{
		"plain": {obj: step("pwd; echo err >&2", nil), want: map[string]string{}, log: dir + "\nerr\n"},
		"dir":   {obj: step("pwd", map[string]cty.Value{"dir": cty.StringVal("sub")}), want: map[string]string{}, log: dir + "/sub\n"},
		"env": {
			obj: step(`echo "$A"`, map[string]cty.Value{"env": cty.MapVal(map[string]cty.Value{
				"A": cty.StringVal("v").WithMarks(cty.NewValueMarks("sensitive"))})}),
			want: map[string]string{}, log: "v\n",
		},
		"outputs": {
			obj:  step(`echo "digest=sha256:1" >>"$PIPELINE_OUTPUT"`, map[string]cty.Value{"outputs": names("digest")}),
			want: map[string]string{"digest": "sha256:1"},
		},
		"fails":          {obj: step("echo no; exit 3", nil), log: "no\n", err: "sh: exit status 3"},
		"missing output": {obj: step("exit 0", map[string]cty.Value{"outputs": names("digest")}), err: `did not write the output "digest"`},
		"not known yet":  {obj: step("", map[string]cty.Value{"command": cty.UnknownVal(cty.List(cty.String))}), err: "not known yet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			var log bytes.Buffer
			got, err := exec.Action{}.Run(context.Background(), steps.ActionEnv{Spawner: spawner{}, Log: &log, Dir: dir, Temp: temp}, tt.obj)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if tt.err == "" {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
			if log.String() != tt.log {
				t.Errorf("log %q, want %q", log.String(), tt.log)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("%s was left", left[0].Name())
			}
		})
	}
}

func TestRunIsBounded(t *testing.T) {
	const deaf = "trap '' TERM; while :; do sleep 0.01; done"
	a := exec.Action{Grace: 10 * time.Millisecond}
	env := steps.ActionEnv{Spawner: spawner{}, Dir: t.TempDir(), Temp: t.TempDir()}
	timeout := map[string]cty.Value{"timeout": cty.NumberIntVal(int64(20 * time.Millisecond))}
	for _, script := range []string{"sleep 1000", deaf} {
		_, err := a.Run(context.Background(), env, step(script, timeout))
		if !errors.Is(err, exec.ErrTimeout) || !strings.Contains(err.Error(), "20ms") {
			t.Errorf("%s: %v", script, err)
		}
	}
	stop := errors.New("interrupted by SIGINT")
	ctx, cancel := context.WithCancelCause(context.Background())
	// real time: a real program runs
	time.AfterFunc(time.Millisecond, func() { cancel(stop) })
	if _, err := a.Run(ctx, env, step(deaf, nil)); !errors.Is(err, stop) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestValidate(t *testing.T) {
	k := exec.Kind()
	if k.Block != "step" || k.Name != "exec" || k.Doc == "" {
		t.Errorf("%s %s", k.Block, k.Name)
	}
	for _, a := range k.Schema.Attrs {
		if a.Doc == "" {
			t.Errorf("%s has no doc", a.Name)
		}
	}
	for name, tt := range map[string]struct {
		obj  steps.Object
		want []string
	}{
		"fine":              {step("x", nil), nil},
		"no command":        {step("", map[string]cty.Value{"command": cty.ListValEmpty(cty.String)}), []string{"command"}},
		"not known":         {step("", map[string]cty.Value{"command": cty.UnknownVal(cty.List(cty.String))}), nil},
		"timeout":           {step("x", map[string]cty.Value{"timeout": cty.Zero}), []string{"timeout"}},
		"name of an output": {step("x", map[string]cty.Value{"outputs": cty.SetVal([]cty.Value{cty.StringVal("a b")})}), []string{"outputs"}},
	} {
		var got []string
		for _, p := range k.Validate(tt.obj) {
			got = append(got, p.Path...)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: problems at %v, want %v", name, got, tt.want)
		}
	}
}
