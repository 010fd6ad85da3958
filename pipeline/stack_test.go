package main_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/docker"
)

// stackRig is a tool that starts the stacks of testdata/stack.
type stackRig struct {
	args []string // its pipeline file and variables
	// owned means that the file labels what it makes with var.owner.
	owned bool
	// programs lists the programs of this machine that its commands call.
	programs []string
	// left lists what the tool has of the launches of a folder, besides processes and records.
	left func(t *testing.T, folder string) []string
	// losses are ways to remove a launch other than its down.
	losses []stackLoss
	// differ is a line of what the slow head applies, without the mark of a difference.
	differ string
	// pause is the time between the moments of a launch at which the program is killed.
	pause time.Duration
}

// stackLoss is a way to lose a launch.
type stackLoss struct {
	name string
	// rob removes the launches of a folder.
	rob func(t *testing.T, folder string)
	// words appear in the output of the command lost.
	words string
}

// TestStack: servers of a shell script are measured, compared, lost and removed.
func TestStack(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is missing")
	}
	files := func(_ *testing.T, folder string) []string {
		left, _ := filepath.Glob(filepath.Join(folder, "state", "*"))
		return left
	}
	stackRig{
		args: []string{"shell.hcl", "--var", "program=" + lookup(t, "pipeline")}, left: files,
		differ: `settings: {"slowdown":16}`, pause: 70 * time.Millisecond,
		losses: []stackLoss{{"process", func(_ *testing.T, folder string) {
			for _, path := range files(t, folder) {
				if group, err := os.ReadFile(path); err == nil && filepath.Ext(path) == ".pid" {
					n, _ := strconv.Atoi(strings.TrimSpace(string(group)))
					_ = os.Remove(path)
					_ = syscall.Kill(-n, syscall.SIGKILL)
				}
			}
		}, "somebody removed pipeline-"}},
	}.test(t)
}

// TestStackOfCompose does the same with containers of docker compose.
func TestStackOfCompose(t *testing.T) {
	t.Parallel()
	needDocker(t)
	if _, err := exec.LookPath("docker-compose"); err != nil {
		skipOrFail(t, "docker", "docker-compose is missing; install Debian's package of this name")
	}
	image, err := docker.SimulatorImage(t.Context(), dockerHost(), lookup(t, "pipeline"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, args ...string) []string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "docker", append([]string{"--host", dockerHost()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v: %s", args, err, out)
		}
		return strings.Fields(string(out))
	}
	containers := func(t *testing.T, folder string) []string {
		t.Helper()
		return ask(t, "container", "ls", "--all", "--quiet", "--filter", "label=owner="+ownerOf(folder))
	}
	stackRig{
		args: []string{"compose.hcl", "--var", "image=" + image}, owned: true, programs: []string{"docker-compose"},
		differ: `PIPELINE_SIMULATE: '{"slowdown":16}'`, pause: 300 * time.Millisecond,
		left: func(t *testing.T, folder string) []string {
			t.Helper()
			return append(containers(t, folder), ask(t, "network", "ls", "--quiet", "--filter", "label=owner="+ownerOf(folder))...)
		},
		losses: []stackLoss{{"container", func(t *testing.T, folder string) {
			t.Helper()
			ask(t, append([]string{"rm", "--force"}, containers(t, folder)...)...)
		}, "somebody removed the container of pipeline-"}},
	}.test(t)
}

// TestStackOfKustomize does the same with Deployments that kubectl applies from kustomizations.
func TestStackOfKustomize(t *testing.T) {
	t.Parallel()
	r := needKubernetes(t)
	namespaces := func(t *testing.T, folder string) (found []string) {
		t.Helper()
		list, err := r.client.CoreV1().Namespaces().List(t.Context(), meta.ListOptions{LabelSelector: "owner=" + ownerOf(folder)})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list.Items {
			found = append(found, n.Name)
		}
		return found
	}
	each := func(do func(t *testing.T, namespace string) error) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			for _, name := range namespaces(t, folder) {
				if err := do(t, name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	stackRig{
		args:  []string{"kustomize.hcl", "--var", "kubeconfig=" + filepath.Join(r.dir, "admin.kubeconfig")},
		owned: true, programs: []string{filepath.Join(r.dir, "bin", "kubectl")}, left: namespaces,
		differ: `value: '{"slowdown":16}'`, pause: 500 * time.Millisecond,
		losses: []stackLoss{
			{"namespace", each(func(t *testing.T, name string) error {
				t.Helper()
				return r.client.CoreV1().Namespaces().Delete(t.Context(), name, meta.DeleteOptions{})
			}), "somebody deleted namespace pipeline-"},
			{"Pod", each(func(t *testing.T, name string) error {
				t.Helper()
				return r.client.CoreV1().Pods(name).DeleteCollection(t.Context(), meta.DeleteOptions{}, meta.ListOptions{})
			}), "Killing: Stopping container server"},
		},
	}.test(t)
}

func lookup(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// ownerOf is a name for a test's folder that can be the value of a label.
func ownerOf(folder string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(folder)))[:16] }

// test runs A/A and A/B, takes a launch away, and kills the program at many moments of its launches.
func (r stackRig) test(t *testing.T) {
	t.Helper()
	t.Run("alike", func(t *testing.T) {
		t.Parallel()
		folder := r.folder(t)
		text, code := r.run(t, folder, "--var", "repeats=4")
		doc := r.measured(t, folder, text)
		if code != 0 || doc.Verdict != result.Pass {
			t.Errorf("exit status %d, verdict %q\n%s", code, doc.Verdict, text)
		}
		sides := doc.AppliedSides()
		if len(sides) == 0 || sides[0].BaseApplied.Digest != sides[0].HeadApplied.Digest ||
			!strings.Contains(strings.Join(doc.Warnings, "\n"), "apply the same (sha256:") {
			t.Errorf("the same was applied: %v, %q", sides, doc.Warnings)
		}
		r.gone(t, folder)
	})
	t.Run("slower", func(t *testing.T) {
		t.Parallel()
		folder := r.folder(t)
		text, code := r.run(t, folder, "--var", "repeats=4", "--var", "head=16")
		doc := r.measured(t, folder, text)
		if code != 1 || doc.Verdict != result.Regression {
			t.Errorf("exit status %d, verdict %q\n%s", code, doc.Verdict, text)
		}
		report, err := os.ReadFile(filepath.Join(folder, "out", "report.md"))
		if err != nil || !r.applies(string(report)) {
			t.Errorf("the report lacks the difference of what was applied, or has a secret: %v\n%s", err, report)
		}
		plan, code := finished(r.command(t, folder, "plan", "--launch", "--var", "head=16"))
		if code != 0 || !r.applies(plan) {
			t.Errorf("plan --launch lacks the difference of what would be applied, or has a secret: exit status %d\n%s", code, plan)
		}
		logs, err := filepath.Glob(filepath.Join(folder, "out", "logs", "*.log"))
		if err != nil || len(logs) != 8 {
			t.Fatalf("logs: %v, %v", logs, err)
		}
		for _, file := range logs {
			if log, err := os.ReadFile(file); err != nil || !strings.Contains(string(log), "Starting vLLM API server") {
				t.Errorf("%s lacks the log of the stack: %v\n%s", file, err, log)
			}
		}
		r.gone(t, folder)
	})
	for _, loss := range r.losses {
		t.Run("lost "+loss.name, func(t *testing.T) {
			t.Parallel()
			folder := r.folder(t)
			cmd, out := r.command(t, folder, "run", "--out", "out", "--progress", "plain", "--var", "requests=400")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if !within(3*time.Minute, 10*time.Millisecond, fileHolds(filepath.Join(folder, "out", "events.jsonl"), runStarts)) {
				t.Errorf("no run began\n%s", out)
			}
			loss.rob(t, folder)
			err := cmd.Wait()
			if code := exitStatus(t, err); code != 4 || !strings.Contains(out.String(), loss.words) {
				t.Errorf("exit status %d, want 4 and %q\n%s", code, loss.words, out)
			}
			r.gone(t, folder)
		})
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		times, _ := strconv.Atoi(os.Getenv("PIPELINE_STACK_TIMES"))
		for i := range max(times, 2) {
			r.kill(t, i)
		}
	})
}

// applies reports whether a text has the difference of what the sides apply, and not the secret in it.
func (r stackRig) applies(text string) bool {
	secret := "abcd1234efgh5678"
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "+") && strings.HasSuffix(line, r.differ)
	}) && !strings.Contains(text, secret) && !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret)))
}

// kill kills the program at the i-th moment of its first launch: cleanup, and a run that goes on, remove what it left.
func (r stackRig) kill(t *testing.T, i int) {
	t.Helper()
	folder := r.folder(t)
	cmd, out := r.command(t, folder, "run", "--out", "out", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	recorded := func() bool {
		left, _ := filepath.Glob(filepath.Join(folder, ".cache", "pipeline", "stacks", "*.json"))
		return len(left) > 0
	}
	if !within(time.Minute, time.Millisecond, recorded) {
		t.Fatalf("no stack was started\n%s", out)
	}
	// real time: each round kills at another moment of a launch.
	time.Sleep(time.Duration(i) * r.pause)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	if i%2 == 0 {
		if text, code := finished(r.command(t, folder, "cleanup")); code != 0 {
			t.Fatalf("round %d: exit status %d\n%s", i, code, text)
		}
	} else {
		text, _ := r.run(t, folder, "--resume")
		r.measured(t, folder, text)
	}
	r.gone(t, folder)
}

// folder makes a folder with the stack's files.
func (r stackRig) folder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "stack"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(folder, "stack.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// command of the program in a folder with the programs that the stack's commands call.
func (r stackRig) command(t *testing.T, folder string, args ...string) (*exec.Cmd, fmt.Stringer) {
	t.Helper()
	bin := filepath.Join(folder, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range append([]string{"sh"}, r.programs...) {
		at := filepath.Join(bin, filepath.Base(program))
		if err := os.Symlink(lookup(t, program), at); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if args[0] != "cleanup" {
		args = append(append([]string{args[0], "users.hcl"}, r.args...), args[1:]...)
		if r.owned {
			args = append(args, "--var", "owner="+ownerOf(folder))
		}
	}
	cmd, out := markedCommand(t, folder, args...)
	cmd.Env = append(cmd.Env, "PATH="+bin)
	return cmd, out
}

// finished runs a command to its end.
func finished(cmd *exec.Cmd, out fmt.Stringer) (string, int) {
	err := cmd.Run()
	code := 0
	if err != nil {
		code = cmd.ProcessState.ExitCode()
	}
	return out.String(), code
}

func (r stackRig) run(t *testing.T, folder string, more ...string) (string, int) {
	t.Helper()
	return finished(r.command(t, folder, append([]string{"run", "--out", "out", "--progress", "plain"}, more...)...))
}

// measured demands that all runs were measured. A busy machine may leave the comparison open.
func (stackRig) measured(t *testing.T, folder, text string) *result.Document {
	t.Helper()
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	if err != nil || doc.Status != result.StatusComplete {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, cell := range doc.Benchmarks[0].Cells {
		if len(cell.Runs) != doc.RepeatsPlanned {
			t.Errorf("%d runs, want %d\n%s", len(cell.Runs), doc.RepeatsPlanned, text)
		}
		for _, run := range cell.Runs {
			if run.Status != result.RunOK || run.Failed != 0 {
				t.Errorf("a run was not measured: %s, %d failed\n%s", run.Status, run.Failed, text)
			}
		}
	}
	return doc
}

// gone demands that nothing of a folder's launches is left: process, record, or what the tool has of them.
func (r stackRig) gone(t *testing.T, folder string) {
	t.Helper()
	noProcessLeft(t, folder)
	records, err := os.ReadDir(filepath.Join(folder, ".cache", "pipeline", "stacks"))
	if err != nil && !os.IsNotExist(err) || len(records) > 0 {
		t.Errorf("records left: %v, %v", records, err)
	}
	if left := r.left(t, folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
