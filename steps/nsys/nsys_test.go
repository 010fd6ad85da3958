package nsys_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/nsys"
)

// fake is nsys where a server is: it notes what is run, and fails at what begins with a word.
type fake struct {
	ran    []string
	fails  string
	err    error
	stderr string
}

func (f *fake) exec(_ context.Context, argv []string) (stdout, stderr string, err error) {
	text := strings.Join(argv, " ")
	f.ran = append(f.ran, text)
	if f.err != nil && strings.HasPrefix(text, f.fails) {
		return "", f.stderr, f.err
	}
	return "", "", nil
}

func (f *fake) profiler() nsys.Profiler {
	put := 100.0
	return nsys.Profiler{
		Session: "s", Exec: f.exec,
		Tokens: func(context.Context) *float64 { put += 50; now := put; return &now },
	}
}

// window runs a profiler for a second, after a second, and stops it after a time.
func window(t *testing.T, p nsys.Profiler, after time.Duration) (got steps.Profiled, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		stop, failed := p.Profile(t.Context(), steps.Endpoint{}, steps.ProfileWindow{Dir: "/d", Delay: time.Second, Window: time.Second})
		if failed != nil {
			t.Fatal(failed)
		}
		time.Sleep(after)
		got, err = stop(t.Context())
	})
	return got, err
}

// A window is a start and a stop, then the tables; what they are made from is removed.
func TestProfile(t *testing.T) {
	f := &fake{}
	got, err := window(t, f.profiler(), time.Minute)
	if err != nil || got.Tokens == nil || *got.Tokens != 50 || got.Time != time.Second {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{
		"mkdir -p /d",
		"nsys start --session=s --sample=none --cpuctxsw=none --output=/d/report --force-overwrite=true",
		"nsys stop --session=s",
		"nsys stats --report=cuda_gpu_kern_sum --report=cuda_gpu_mem_time_sum --format=csv --output=/d/report --sqlite=/d.sqlite " +
			"--force-export=true --force-overwrite=true /d/report.nsys-rep",
		"rm -f /d.sqlite",
	}
	if !slices.Equal(f.ran, want) {
		t.Errorf("ran\n%s", strings.Join(f.ran, "\n"))
	}
}

// A load that ends within the delay has no profile; one that ends within the window has a shorter one.
func TestProfileOfAShortLoad(t *testing.T) {
	f := &fake{}
	if _, err := window(t, f.profiler(), time.Second/2); err == nil || !strings.Contains(err.Error(), "shorten delay") || len(f.ran) > 0 {
		t.Errorf("within the delay: %v after %q", err, f.ran)
	}
	if got, err := window(t, f.profiler(), time.Second*3/2); err != nil || got.Time != time.Second/2 {
		t.Errorf("within the window: %+v, %v", got, err)
	}
}

// What nsys says of a failure is in the error.
func TestProfileFails(t *testing.T) {
	for fails, want := range map[string]string{
		"nsys start": "nsys start: exit status 1: no such session",
		"nsys stats": "nsys stats: exit status 1: no such session",
	} {
		f := &fake{fails: fails, err: errors.New("exit status 1"), stderr: "usage\nno such session\n"}
		if _, err := window(t, f.profiler(), time.Minute); err == nil || err.Error() != want {
			t.Errorf("%s: %v", fails, err)
		}
	}
}

// The server is started by nsys, in its container where it has one.
func TestProfiled(t *testing.T) {
	p := nsys.Profiler{Session: "s"}
	for name, tt := range map[string]struct {
		spec steps.ServerSpec
		want string
	}{
		"a program":                {steps.ServerSpec{Executable: []string{"serve"}}, ""},
		"an image of an engine":    {steps.ServerSpec{Image: "i", OwnProgram: []string{"vllm"}}, ""},
		"an image with entrypoint": {steps.ServerSpec{Image: "i", Container: &steps.ContainerSpec{Entrypoint: []string{"serve"}}}, ""},
		"an image of its own":      {steps.ServerSpec{Image: "i"}, "set entrypoint"},
		"two machines":             {steps.ServerSpec{Executable: []string{"serve"}, Nodes: 2}, "spread over 2 nodes"},
	} {
		got, err := p.Profiled(tt.spec, "", "")
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || len(got.Under) == 0 || got.Under[0] != nsys.Program:
			t.Errorf("%s: %q, %v", name, got.Under, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"there":     {nil, ""},
		"not there": {fmt.Errorf("%w: exec", steps.ErrNotStarted), "not in the PATH"},
		"broken":    {errors.New("exit status 127"), "nsys --version: exit status 127: no libssl"},
	} {
		err := nsys.Check(t.Context(), (&fake{fails: "nsys --version", err: tt.err, stderr: "no libssl"}).exec)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
