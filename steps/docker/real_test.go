package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// The tests of this file need a daemon at DOCKER_HOST. Without one they are skipped,
// unless PIPELINE_TEST_REQUIRE has the word docker.
const (
	again   = 5               // how often each end is played
	patient = 2 * time.Minute // bounds what a slow machine may take
)

// daemonHost returns the host of a daemon that answers.
func daemonHost(t *testing.T) string {
	t.Helper()
	host := HostFromEnv(os.Getenv)
	d, err := connect(host)
	if err == nil {
		err = d.ping(context.Background())
	}
	if err == nil {
		return host
	}
	required := strings.FieldsFunc(os.Getenv("PIPELINE_TEST_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(required, "docker") {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// testImage builds the image of testdata/server once.
var testImage = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pipeline-docker-test")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "server")
	cmd := exec.Command("go", "build", "-trimpath", "-o", program, "./testdata/server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return SimulatorImage(context.Background(), HostFromEnv(os.Getenv), program)
})

// rig is a launcher of a real daemon with a run of its own.
type rig struct {
	*Launcher
	image string
	ports process.Ports
}

func newRig(t *testing.T) *rig {
	t.Helper()
	host := daemonHost(t)
	image, err := testImage()
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Options{Host: host, RunID: "test-" + randomName(), Deadline: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Launcher: l, image: image}
	t.Cleanup(func() {
		r.nothingLeft(t)
		if _, err := Cleanup(context.Background(), host, Filter{RunID: l.opt.RunID}); err != nil {
			t.Error(err)
		}
	})
	return r
}

// process runs the test's server with some arguments.
func (r *rig) process(t *testing.T, network string, args ...string) steps.Process {
	t.Helper()
	port, release, err := r.ports.TakeRow("127.0.0.1", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	spec := steps.ServerSpec{Addr: `server.vllm.sut["a"]`, Image: r.image, Container: &steps.ContainerSpec{Network: network}}
	p := steps.Process{
		Name: spec.Addr, Host: spec.ListenHost(), Port: port, StopGrace: patient, Container: spec.NewContainer(),
		Env: []steps.EnvVar{{Name: "TOKEN", Value: "t0p", Secret: true}},
	}
	p.Argv = append([]string{SimulatorProgram, fmt.Sprintf("-address=%s:%d", p.Host, p.Port)}, args...)
	return p
}

// nothingLeft fails if the daemon has anything of the run.
func (r *rig) nothingLeft(t *testing.T) {
	t.Helper()
	found, err := r.daemon.leftovers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found {
		if l.RunID == r.opt.RunID {
			t.Errorf("%s %s is left", l.Kind, l.Name)
		}
	}
}

// get polls a server until it answers.
func get(t *testing.T, s steps.Server) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil {
				return string(body)
			}
		}
		select {
		case <-s.Done():
			t.Fatalf("it ended: %s", s.ExitState())
		case <-ctx.Done():
			t.Fatal("it does not answer")
		// real time: a Docker daemon works
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// waitFor polls a log for a line.
func (l *lockedBuffer) waitFor(t *testing.T, line string) {
	t.Helper()
	deadline := time.Now().Add(patient)
	for !strings.Contains(l.String(), line) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in the log:\n%s", line, l.String())
		}
		// real time: a Docker daemon works
		<-time.After(5 * time.Millisecond)
	}
}

// A server answers on its port, in both kinds of network, stops when asked, and leaves
// nothing; its log has the first and the last line.
func TestRealServer(t *testing.T) {
	r := newRig(t)
	for _, network := range []string{"", steps.NetworkHost} {
		for range again {
			p := r.process(t, network)
			var log lockedBuffer
			s, err := r.Start(context.Background(), p, &log)
			if err != nil {
				t.Fatal(err)
			}
			if env := get(t, s); !strings.Contains(env, "TOKEN=t0p") {
				t.Errorf("environment %q", env)
			}
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			if s.ExitState() != "exit status 0" || log.String() != "first byte\ngot terminated\nlast byte\n" {
				t.Errorf("%s, log %q", s.ExitState(), log.String())
			}
			if taken, err := r.listening(context.Background(), p.Port); taken || err != nil {
				t.Errorf("port %d is taken: %v", p.Port, err)
			}
			r.nothingLeft(t)
		}
	}
}

// A pause and a SIGSTOP that are over when somebody asks are seen in the daemon's events.
func TestRealPause(t *testing.T) {
	r := newRig(t)
	started, err := r.Start(context.Background(), r.process(t, ""), &lockedBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := started.(*Server)
	paused := s.WatchPauses(ctx)
	// Until the request for events is there, pauses are not seen.
	for limit := time.Now().Add(patient); ; {
		for _, action := range []string{"pause", "unpause"} {
			if err := s.launcher.daemon.ask(ctx, http.MethodPost, "/containers/"+s.id+"/"+action, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		// real time: a Docker daemon works
		<-time.After(50 * time.Millisecond)
		got, err := paused(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got == pausedText {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("paused: %q", got)
		}
	}
	for _, name := range []string{"STOP", "CONT"} {
		if err := s.signal(name); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	for limit := time.Now().Add(patient); got == "" || got == pausedText; {
		if time.Now().After(limit) {
			t.Fatal("SIGSTOP was not seen")
		}
		// real time: a Docker daemon works
		<-time.After(5 * time.Millisecond)
		if got, err = paused(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got != "its container got SIGSTOP" {
		t.Errorf("paused: %q", got)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	r.nothingLeft(t)
}

// What a process in a container leaves in a folder is copied out of it while it runs.
func TestRealFetch(t *testing.T) {
	r := newRig(t)
	p := r.process(t, "")
	p.Files = []steps.File{{Name: "trace.json", Content: []byte("abc")}}
	s, err := r.Start(context.Background(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.Capabilities().Fetch(context.Background(), filesDir, dir); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "trace.json")); err != nil || string(text) != "abc" {
		t.Errorf("%q, %v", text, err)
	}
	if err := s.Capabilities().Fetch(context.Background(), "/not/there", t.TempDir()); err == nil {
		t.Error("a folder that is not there is copied")
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	r.nothingLeft(t)
}

// What the daemon made of the request, and what it says of the container.
// A program beside the server runs in its container, and its failures are distinguished.
func TestRealExec(t *testing.T) {
	r := newRig(t)
	server, err := r.Start(context.Background(), r.process(t, steps.NetworkHost), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop(context.Background())
	run := server.Capabilities().Exec
	stdout, stderr, err := run(t.Context(), []string{SimulatorProgram, "-exit=0", "-lines=2"})
	if err != nil || stdout != "first byte\nout 0\nout 1\nlast byte\n" || stderr != "err 0\nerr 1\n" {
		t.Errorf("%q, %q, %v", stdout, stderr, err)
	}
	if _, _, err := run(t.Context(), []string{SimulatorProgram, "-exit=3"}); err == nil || err.Error() != "exit status 3" {
		t.Errorf("it failed with %v", err)
	}
	if _, _, err := run(t.Context(), []string{"nsys", "--version"}); !errors.Is(err, steps.ErrNotStarted) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestRealSettings(t *testing.T) {
	r := newRig(t)
	p := r.process(t, "")
	p.StopSignal = "INT"
	dir := t.TempDir()
	p.Container.ShmSize, p.Container.Memory = 1<<28, 1<<30
	p.Container.Ulimits = []steps.Ulimit{{Name: "stack", Soft: 67108864, Hard: 67108864}}
	p.Container.CapAdd = []string{"IPC_LOCK"}
	p.Container.Mounts = []steps.Mount{{Source: dir, Target: "/models", ReadOnly: true}}
	p.Container.Tmpfs = map[string]string{"/scratch": "size=1m"}
	p.Container.Devices = []steps.ContainerDevice{{Host: "/dev/null", Container: "/dev/nothing", Permissions: "rw"}}
	s := start(t, r.Launcher, p)
	get(t, s)
	c, err := r.daemon.pool.Client.InspectContainerWithContext(s.id, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	h := c.HostConfig
	if h.ShmSize != 1<<28 || h.Memory != 1<<30 || !h.Init || h.Privileged || len(h.Ulimits) != 1 || h.Ulimits[0].Soft != 67108864 ||
		!slices.Equal(h.CapAdd, []string{"CAP_IPC_LOCK"}) && !slices.Equal(h.CapAdd, []string{"IPC_LOCK"}) ||
		len(h.Devices) != 1 || len(h.Mounts) != 1 || !h.Mounts[0].ReadOnly || h.Tmpfs["/scratch"] == "" {
		t.Errorf("host config %+v", h)
	}
	if c.Config.StopSignal != "SIGINT" || c.Image != s.image.ID || c.Config.Labels[LabelRun] != r.opt.RunID ||
		c.Config.Labels[LabelServer] != p.Name {
		t.Errorf("config %+v", c.Config)
	}
	if about := s.Describe(); about["container.image"] != r.image || !strings.HasPrefix(about["container.image_id"], "sha256:") {
		t.Errorf("described as %v", about)
	}
}

// A server that fails says how, with its log, and leaves nothing.
func TestRealFailure(t *testing.T) {
	r := newRig(t)
	for range again {
		var log lockedBuffer
		s, err := r.Start(context.Background(), r.process(t, "", "-exit=3", "-lines=2000"), &log)
		if err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if s.ExitState() != "exit status 3" {
			t.Errorf("ended with %s", s.ExitState())
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		checkLines(t, log.String(), 2000)
		r.nothingLeft(t)
	}
}

// checkLines fails unless each output is complete and in order. Between the two the
// daemon keeps no order: they are two pipes.
func checkLines(t *testing.T, log string, n int) {
	t.Helper()
	want := map[bool][]string{false: {"first byte"}}
	for i := range n {
		want[false] = append(want[false], fmt.Sprintf("out %d", i))
		want[true] = append(want[true], fmt.Sprintf("err %d", i))
	}
	want[false] = append(want[false], "last byte")
	got := map[bool][]string{}
	for line := range strings.Lines(log) {
		isErr := strings.HasPrefix(line, "err")
		got[isErr] = append(got[isErr], strings.TrimSuffix(line, "\n"))
	}
	for isErr, lines := range want {
		if !slices.Equal(got[isErr], lines) {
			t.Errorf("%d lines, want %d (standard error: %v)", len(got[isErr]), len(lines), isErr)
		}
	}
}

// A server that ignores the signal is killed.
func TestRealKill(t *testing.T) {
	r := newRig(t)
	for i := range again {
		p := r.process(t, "", "-deaf")
		p.StopGrace = 10 * time.Millisecond
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 { // the context ends the grace
			p.StopGrace = patient
			cancel()
		}
		var log lockedBuffer
		s, err := r.Start(context.Background(), p, &log)
		if err != nil {
			t.Fatal(err)
		}
		log.waitFor(t, "first byte")
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if s.ExitState() != "exit status 137 (signal: killed)" {
			t.Errorf("ended with %s", s.ExitState())
		}
		r.nothingLeft(t)
	}
}

// Start leaves nothing when it fails, wherever its context ends.
func TestRealStartFails(t *testing.T) {
	r := newRig(t)
	for i := range again {
		p := r.process(t, "")
		p.Argv = []string{"/no/such/program"}
		p.Container.NoInit = true // an init would start, and fail later
		if _, err := r.Start(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*20*time.Millisecond)
		s, err := r.Start(ctx, r.process(t, ""), nil)
		if err == nil {
			err = s.Stop(context.Background())
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		r.nothingLeft(t)
	}
}

// What a killed program left behind is found by its run, and by its deadline.
func TestRealCleanup(t *testing.T) {
	r := newRig(t)
	host := HostFromEnv(os.Getenv)
	for i := range again {
		s, err := r.Start(context.Background(), r.process(t, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.makeNetworkAndVolume(t, fmt.Sprintf("%s-%d", r.opt.RunID, i))
		if removed, err := Cleanup(context.Background(), host, Filter{RunID: "another"}); err != nil || len(removed) != 0 {
			t.Errorf("removed %v, %v", removed, err)
		}
		filter := Filter{RunID: r.opt.RunID}
		if i%2 == 0 {
			filter = Filter{Expired: r.opt.Deadline.Add(time.Minute)}
		}
		removed, err := Cleanup(context.Background(), host, filter)
		if err != nil || len(removed) != 3 {
			t.Errorf("removed %v, %v", removed, err)
		}
		<-s.Done()
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("stopping what is gone: %v", err)
		}
		r.nothingLeft(t)
	}
}

func (r *rig) makeNetworkAndVolume(t *testing.T, name string) {
	t.Helper()
	for _, path := range []string{"/networks/create", "/volumes/create"} {
		body := map[string]any{"Name": name, "Labels": map[string]string{LabelRun: r.opt.RunID,
			LabelDeadline: r.opt.Deadline.UTC().Format(time.RFC3339)}}
		if err := r.daemon.ask(context.Background(), http.MethodPost, path, nil, body, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSimulatorImageIsWanted: an image that is asked for again counts as used now, and one
// that was not asked for goes, unless a container has it.
func TestSimulatorImageIsWanted(t *testing.T) {
	host := daemonHost(t)
	ref, err := testImage()
	if err != nil {
		t.Fatal(err)
	}
	d, err := connect(host)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := d.markUsed(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	unused := func(since time.Time) bool {
		t.Helper()
		found, err := d.unusedSimulators(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(found, func(l Leftover) bool { return l.Name == ref })
	}
	if unused(before) {
		t.Errorf("%s was wanted a moment ago and counts as unused", ref)
	}
	if !unused(time.Now().Add(time.Hour)) {
		t.Errorf("%s would not be unused in an hour", ref)
	}
	if err := d.ask(t.Context(), http.MethodPost, "/images/"+ref+"/tag", url.Values{"repo": {simulatorRepository}, "tag": {"unused"}},
		nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.removeImage(t.Context(), simulatorRepository+":unused"); err != nil {
		t.Error(err)
	}
	if _, err := d.inspectImage(t.Context(), "", simulatorRepository+":unused"); status(err) != http.StatusNotFound {
		t.Errorf("the name of a removed image: %v", err)
	}
	if _, err := d.inspectImage(t.Context(), "", ref); err != nil {
		t.Errorf("its other name went too: %v", err)
	}
}
