package main_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// realLlama returns the folder of llama.cpp, or ends the test.
func realLlama(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PIPELINE_LLAMACPP")
	if dir == "" {
		skipOrFail(t, "llamacpp", "PIPELINE_LLAMACPP does not name a folder that examples/llamacpp/setup.sh filled")
	}
	return dir
}

// TestLlamaCPP runs what needs a real engine, and no particular one, on llama.cpp, which starts in a tenth of a second.
func TestLlamaCPP(t *testing.T) {
	dir := realLlama(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"run", llamaRun}, {"killed and resumed", llamaResumed}, {"interrupted", llamaInterrupted}, {"selftest", llamaSelftest},
		{"capacity", llamaCapacity}, {"containers", llamaContainers}, {"ab", llamaAB},
		{"demo", llamaDemo},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, dir)
		})
	}
}

// llamaFile copies the file of the three sides into a folder of its own, and returns arguments that run it there.
func llamaFile(t *testing.T, dir string) (folder string, args []string) {
	t.Helper()
	folder = t.TempDir()
	args = llamaArgs(t, dir, filepath.Join(folder, "f.hcl"), "")
	keepLogs(t, filepath.Join(folder, "out"))
	return folder, args
}

// llamaArgs writes the file of the three sides with a block before it, and returns arguments that run it in its folder.
func llamaArgs(t *testing.T, dir, path, before string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "llamacpp.pipeline.hcl"))
	if err == nil {
		err = os.WriteFile(path, append([]byte(before), text...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"run", filepath.Base(path), "--out", "out", "--progress", "plain", "--var", "dir=" + dir}
}

// llamaRun compares a real server with itself and with a slower one: no regression, and one. What the file
// declares of the server's counters is what was asked for.
func llamaRun(t *testing.T, dir string) {
	t.Helper()
	folder, args := llamaFile(t, dir)
	text, code := marked(t, folder, args...)
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	if err != nil || code != 1 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	checkLlama(t, doc, 18)
	noProcessLeft(t, folder)
}

// llamaAB compares two programs by one command: they are recognised, serve the model, and are called by what differs.
func llamaAB(t *testing.T, dir string) {
	t.Helper()
	folder := t.TempDir()
	program := "#!/bin/sh\nexec " + dir + `/bin/llama-server "$@"` + "\n"
	for _, side := range []string{"old", "new"} {
		err := os.Mkdir(filepath.Join(folder, side), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, side, "llama-server"), []byte(program), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	model, err := os.ReadFile(filepath.Join(dir, "quick.gguf"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "tiny.gguf"), model, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	keepLogs(t, filepath.Join(folder, "out"))
	text, code := marked(t, folder, "ab", "old/llama-server", "new/llama-server", "--model", "tiny.gguf", "--concurrency", "2",
		"--input-len", "16",
		"--output-len", "16", "--requests", "20", "--repeats", "4", "--arg", "parallel=2", "--margin", "100%", "--out", "out",
		"--progress", "plain")
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	// As in llamaDemo, equal programs may be left open.
	if err != nil || code != 0 && doc.Verdict != result.Inconclusive || len(doc.Launches) != 8 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	for _, d := range doc.Gates[0].Decisions {
		if d.Base != "old" || d.Head != "new" || d.N != 4 {
			t.Errorf("%s compares %s with %s in %d pairs", d.Metric, d.Head, d.Base, d.N)
		}
	}
	noProcessLeft(t, folder)
}

// llamaDemo runs what `make demo-real` runs: the planted slow-down is red, and the same server again is not.
func llamaDemo(t *testing.T, dir string) {
	t.Helper()
	args, out := demoCommand(t, "demo-real"), filepath.Join(t.TempDir(), "demo-real")
	for i := range args {
		args[i] = strings.Replace(args[i], "out/demo-real", out, 1)
	}
	keepLogs(t, out)
	text, code := pipeline(t, "..", append(args, "--progress", "plain", "--var", "dir="+dir)...)
	doc, err := store.ReadDocument(out)
	if err != nil || code != 1 || len(doc.Launches) != 18 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	verdicts := map[string]result.Verdict{}
	for _, d := range doc.Gates[0].Decisions {
		if d.Metric == "e2el.p50" {
			verdicts[d.Head] = d.Verdict
		}
	}
	// A machine that does much else may leave the comparison of equals open.
	if verdicts["planted"] != result.Regression || verdicts["again"] != result.Pass && verdicts["again"] != result.Inconclusive {
		t.Errorf("%v\n%s", verdicts, text)
	}
}

// checkLlama holds a result to its number of launches, and to the verdicts that its sides deserve.
func checkLlama(t *testing.T, doc *result.Document, launches int) {
	t.Helper()
	if len(doc.Launches) != launches {
		t.Errorf("%d launches, want %d", len(doc.Launches), launches)
	}
	judged := map[string]bool{}
	for _, g := range doc.Gates {
		for _, d := range g.Decisions {
			judged[d.Head] = judged[d.Head] || d.Metric == "e2el.mean"
			switch {
			case d.Head == "slow" && d.Metric == "e2el.mean":
				if d.Verdict != result.Regression {
					t.Errorf("the slower model is %s", d.Verdict)
				}
			case d.Verdict == result.Regression, d.Verdict == result.Invalid, d.Verdict == result.Missing:
				t.Errorf("%s of %q is %s", d.Metric, d.Head, d.Verdict)
			}
		}
	}
	if !judged["slow"] || !judged["again"] {
		t.Errorf("judged: %v", judged)
	}
}

// llamaResumed kills the program in its second launch. The run goes on, and leaves no server.
func llamaResumed(t *testing.T, dir string) {
	t.Helper()
	folder, args := llamaFile(t, dir)
	llamaEnded(t, folder, syscall.SIGKILL, args...)
	text, code := marked(t, folder, append(args, "--resume")...)
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	if err != nil || code != 1 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	checkLlama(t, doc, 18)
	noProcessLeft(t, folder)
}

// llamaInterrupted interrupts the program in its second launch. It ends its server.
func llamaInterrupted(t *testing.T, dir string) {
	t.Helper()
	folder, args := llamaFile(t, dir)
	if text, code := llamaEnded(t, folder, syscall.SIGINT, args...); code != 130 {
		t.Errorf("exit status %d, want 130\n%s", code, text)
	}
	noProcessLeft(t, folder)
}

// llamaEnded runs the program and sends it a signal when its first launch is done.
func llamaEnded(t *testing.T, folder string, signal syscall.Signal, args ...string) (string, int) {
	t.Helper()
	cmd, out := markedCommand(t, folder, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(2*time.Minute, 5*time.Millisecond, fileHolds(filepath.Join(folder, "out", "events.jsonl"), secondLaunch)) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the journal never held %s\n%s", secondLaunch, out)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return out.String(), exitStatus(t, err)
}

// llamaSelftest plants a slow-down in front of a real server, by the proxy: it is found, and none is where nothing is planted.
func llamaSelftest(t *testing.T, dir string) {
	t.Helper()
	url := startLlama(t, dir)
	text, code := pipeline(t, ".", "selftest", "--real", "--planted", "0,8", "--progress", "plain", "--out", t.TempDir(), "--var", "url="+url,
		filepath.Join("testdata", "llamacpp-url.pipeline.hcl"))
	if code != 0 || !strings.Contains(text, "the gates find a change of twice their margin of 100 % and invent none") ||
		!strings.Contains(text, "the noise between launches is not in this") {
		t.Errorf("exit status %d; want 0, with 200 %% found and none invented\n%s", code, text)
	}
}

// llamaCapacity searches the capacity of a real server.
func llamaCapacity(t *testing.T, dir string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	keepLogs(t, out)
	text, code := pipeline(t, ".", "run", filepath.Join("testdata", "llamacpp-capacity.pipeline.hcl"), "--var", "dir="+dir, "--out", out,
		"--progress", "plain")
	doc, err := store.ReadDocument(out)
	if err != nil || code != 0 {
		t.Fatalf("exit status %d: %v\n%s", code, err, text)
	}
	run := doc.Benchmarks[0].Cells[0].Runs[0]
	if run.Status != result.RunOK || run.Search == nil || len(run.Search.Probes) < 2 || run.Metrics["capacity.rate"] <= 0 {
		t.Errorf("%s: %s, %v\n%s", run.Status, run.Reason, run.Metrics, text)
	}
}

// llamaContainers runs real servers in containers whose image is empty.
func llamaContainers(t *testing.T, dir string) {
	t.Helper()
	needDocker(t)
	python, err := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), "-c", "import sys; print(sys.base_prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	keepLogs(t, filepath.Join(folder, "out"))
	text, err := os.ReadFile(filepath.Join("testdata", "llamacpp-containers.pipeline.hcl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "f.hcl"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	said, code := marked(t, folder, "run", "f.hcl", "--allow-host-mounts", "--out", "out", "--progress", "plain", "--var",
		"image="+emptyImage(t),
		"--var", "dir="+dir, "--var", "python="+strings.TrimSpace(string(python)))
	doc, err := store.ReadDocument(filepath.Join(folder, "out"))
	if err != nil || code > 1 || doc.Status != result.StatusComplete {
		t.Fatalf("exit status %d: %v\n%s", code, err, said)
	}
	for _, c := range doc.Benchmarks[0].Cells {
		for _, r := range c.Runs {
			if r.Status != result.RunOK || r.Failed > 0 {
				t.Errorf("%s: %s: %s, %d failed %v", c.Target, r.Status, r.Reason, r.Failed, r.Failures)
			}
		}
	}
	if t.Failed() {
		t.Logf("%s", said)
	}
	nothingLeft(t, folder)
}

// emptyImage makes an image without a file at the daemon, and returns its name.
func emptyImage(t *testing.T) string {
	t.Helper()
	const image = "pipeline-test:empty"
	build := exec.CommandContext(t.Context(), "docker", "--host", dockerHost(), "build", "--tag", image, "-")
	build.Stdin = strings.NewReader("FROM scratch\nENV PIPELINE_TEST=1\n")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return image
}

// startLlama starts a server that ends with the test, and returns where it answers.
func startLlama(t *testing.T, dir string) string {
	t.Helper()
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	return startServer(t, address, nil, filepath.Join(dir, "bin", "llama-server"), "--model", filepath.Join(dir, "quick.gguf"),
		"--alias", "tiny", "--ctx-size", "8192", "--threads", "1", "--host", host, "--port", port)
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }() // only its address is used
	return free.Addr().String()
}

// startServer starts a server that ends with the test, waits until it is healthy, and returns its URL.
func startServer(t *testing.T, address string, env []string, argv ...string) string {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = log.Close()
	})
	if !within(10*time.Minute, 50*time.Millisecond, func() bool { return len(ended) > 0 || healthy(t.Context(), "http://"+address) }) ||
		len(ended) > 0 {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%s is not healthy\n%s", argv, text)
	}
	return "http://" + address
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
