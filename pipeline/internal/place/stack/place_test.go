package stack_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/stack"
)

// start starts a stack of shell commands in a folder of its own.
func start(t *testing.T, spec steps.StackSpec) (steps.Server, stack.Journal, *spawn.Spawner, string, error) {
	t.Helper()
	dir := t.TempDir()
	journal := stack.Journal{Dir: filepath.Join(dir, "journal")}
	spawner := spawn.New(spawn.Options{Environ: os.Environ()})
	t.Cleanup(spawner.Close)
	server := steps.ServerSpec{Addr: "server.stack.s", Stack: &spec}
	p, err := stack.New().Render(server, "", steps.PortNumber(0))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := stack.NewLauncher(server, stack.Options{Spawner: spawner, Journal: journal, Owner: spawn.Owner(), RunID: "r", Dir: dir})
	running, err := l.Start(context.Background(), p, &out)
	return running, journal, spawner, out.String(), err
}

func sh(script string) []string { return []string{"sh", "-ec", script} }

const writesURL = `echo "url=http://127.0.0.1:9/" >"$PIPELINE_OUTPUT"; echo version=7 >>"$PIPELINE_OUTPUT"`

func records(t *testing.T, j stack.Journal) int {
	t.Helper()
	all, err := j.Records()
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestUpFails(t *testing.T) {
	for name, tt := range map[string]struct{ up, want string }{
		"status":  {"exit 3", "exit status 3"},
		"no url":  {"true", "must write url="},
		"bad url": {`echo url=nowhere >"$PIPELINE_OUTPUT"`, "must write url="},
		"no form": {`echo nothing >"$PIPELINE_OUTPUT"`, "NAME=VALUE"},
	} {
		_, journal, _, log, err := start(t, steps.StackSpec{Up: sh(tt.up), Down: sh(`echo "down of $PIPELINE_STACK"`)})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(log, "down of pipeline-") || records(t, journal) != 0 {
			t.Errorf("%s: %v\n%s", name, err, log)
		}
	}
}

// TestDownFails: the record stays until a down has succeeded.
func TestDownFails(t *testing.T) {
	s, journal, spawner, _, err := start(t, steps.StackSpec{Up: sh(writesURL), Down: sh(`test -f "$PIPELINE_STACK.gone"`)})
	if err != nil || s.BaseURL() != "http://127.0.0.1:9" || s.Capabilities().Describe()["stack.version"] != "7" {
		t.Fatalf("%v, %v", s, err)
	}
	if err := s.Stop(context.Background()); err == nil || records(t, journal) != 1 {
		t.Errorf("%v, %d records", err, records(t, journal))
	}
	all, _ := journal.Records()
	none := func(stack.Record) bool { return false }
	if cleaned, err := journal.Clean(context.Background(), spawner, os.Stderr, os.Getenv, none); err != nil || len(cleaned) != 0 {
		t.Errorf("%v, %v", cleaned, err)
	}
	if err := os.WriteFile(filepath.Join(all[0].Dir, all[0].ID+".gone"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cleaned, err := journal.Clean(context.Background(), spawner, os.Stderr, os.Getenv, func(r stack.Record) bool { return r.RunID == "r" })
	if err != nil || len(cleaned) != 1 || records(t, journal) != 0 {
		t.Errorf("%v, %v, %d records", cleaned, err, records(t, journal))
	}
}

// TestRecordHasNoSecrets: a record keeps a drawn path, which down needs, and no password within an address.
func TestRecordHasNoSecrets(t *testing.T) {
	dir := t.TempDir()
	journal := stack.Journal{Dir: filepath.Join(dir, "journal")}
	spawner := spawn.New(spawn.Options{Environ: os.Environ()})
	defer spawner.Close()
	server := steps.ServerSpec{Addr: "server.stack.s", Stack: &steps.StackSpec{Up: sh(writesURL), Down: sh("true")}, Env: []steps.EnvVar{
		{Name: "KUBECONFIG", Value: "/scratch/job.4711/tmp.a1B2c3D4e5/kubeconfig"}, {Name: "DB", Value: "postgres://app:hunter22@db/app"}}}
	p, err := stack.New().Render(server, "", steps.PortNumber(0))
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.NewLauncher(server, stack.Options{Spawner: spawner, Journal: journal, Dir: dir}).Start(t.Context(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := journal.Records()
	if err != nil || len(all) != 1 || !slices.Equal(all[0].Env, []string{"KUBECONFIG=" + server.Env[0].Value}) ||
		!slices.Equal(all[0].Secrets, []string{"DB"}) {
		t.Errorf("%+v, %v", all, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLostWithoutItsProgram: a command that does not exist excuses no failure of the server.
func TestLostWithoutItsProgram(t *testing.T) {
	s, _, _, _, err := start(t, steps.StackSpec{Up: sh(writesURL), Down: sh("true"), Lost: []string{"/nonexistent/kubectl"}})
	if err != nil {
		t.Fatal(err)
	}
	if lost := s.Capabilities().Evicted(context.Background()); lost != nil {
		t.Errorf("%v", lost)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestLost(t *testing.T) {
	s, _, _, _, err := start(t, steps.StackSpec{Up: sh(writesURL), Down: sh("true"),
		Lost: sh(`test -f here || { echo "node gpu-7 was preempted"; exit 1; }`)})
	if err != nil {
		t.Fatal(err)
	}
	lost := s.Capabilities().Evicted(context.Background())
	eviction, ok := errors.AsType[*steps.EvictionError](lost)
	if !ok || eviction.Class != steps.EvictionStackLost || eviction.Reason != "node gpu-7 was preempted" {
		t.Errorf("%v", lost)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

// manifests holds what a tool may render: the ID of the launch, a Secret, and variables, some of them secret.
const manifests = `kind: Secret
apiVersion: v1
data:
  token: YWJjZDEyMzRlZmdoNTY3OA==
  key: |
    -----BEGIN KEY-----
    line: abcd1234efgh5678
stringData: {user: abcd1234efgh5678}
metadata:
  name: keys
---
kind: Deployment
metadata:
  namespace: $PIPELINE_STACK
spec:
  args: [--max-num-seqs, "256"]
  env:
  - name: HF_TOKEN
    value: abcd1234efgh5678
  - name: MAX_TOKENS
    value: "4096"
  - API_KEY=abcd1234efgh5678
  other: $OURS`

const rendered = `kind: Secret
apiVersion: v1
data:
  token: (secret)
  key: (secret)
stringData: (secret)
metadata:
  name: keys
---
kind: Deployment
metadata:
  namespace: $PIPELINE_STACK
spec:
  args: [--max-num-seqs, "256"]
  env:
  - name: HF_TOKEN
    value: (secret)
  - name: MAX_TOKENS
    value: "4096"
  - API_KEY=(secret)
  other: (secret)`

// TestRender: what is applied is the same text for each launch, and has no secrets.
func TestRender(t *testing.T) {
	spawner := spawn.New(spawn.Options{Environ: os.Environ()})
	defer spawner.Close()
	render := func(script string) (*steps.Applied, error) {
		spec := steps.ServerSpec{Stack: &steps.StackSpec{Render: sh(script)}, Env: []steps.EnvVar{{Name: "OURS", Value: "x7", Secret: true}}}
		return stack.Render(t.Context(), spawner, spec, t.TempDir(), io.Discard)
	}
	print := "cat <<EOF\n" + manifests + "\nEOF"
	one, err := render(print)
	if err != nil || strings.TrimSpace(one.Text) != rendered || one.Cut {
		t.Fatalf("%v\n%s", err, one.Text)
	}
	two, err := render(print)
	if err != nil || two.Digest != one.Digest {
		t.Errorf("another launch: %v, %v", two, err)
	}
	long, err := render("yes 'replicas: 1' | head -n 100000")
	if err != nil || !long.Cut || !strings.HasSuffix(long.Text, "replicas: 1\n") || len(long.Text) > 1<<20 {
		t.Errorf("a long text: %v, %d bytes", err, len(long.Text))
	}
	for script, want := range map[string]string{"true": "printed nothing", "exit 3": "exit status 3"} {
		if _, err := render(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	_, journal, _, log, err := start(t, steps.StackSpec{Up: sh(writesURL), Down: sh("echo down"), Render: sh("exit 3")})
	if err == nil || !strings.Contains(err.Error(), "render: exit status 3") || strings.Contains(log, "down") || records(t, journal) != 0 {
		t.Errorf("a stack that cannot be rendered: %v\n%s", err, log)
	}
}
