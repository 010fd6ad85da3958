package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/mock"
)

// These make this test program one of the processes of the comparison.
const (
	roleVar = "PIPELINE_BENCH_ROLE"
	urlVar  = "PIPELINE_BENCH_URL"
	caseVar = "PIPELINE_BENCH_CASE"
)

// figure is what a client says of a run: times in seconds.
type figure struct {
	TTFT, ITL mock.Quantiles
	CPU       float64
	Tokens    int
	Failed    int
	Note      string
}

// TestRole is a process of the comparison and no test: it says in its first line what
// the benchmark waits for.
func TestRole(t *testing.T) {
	name, url := os.Getenv(roleVar), os.Getenv(urlVar)
	if name == "" {
		t.Skip("a process of BenchmarkClients")
	}
	var c Case
	if err := json.Unmarshal([]byte(os.Getenv(caseVar)), &c); err != nil {
		t.Fatal(err)
	}
	if name == "mock" {
		mockRole(t, c)
		return
	}
	f, err := clientRole(t.Context(), name, url, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		t.Fatal(err)
	}
}

func mockRole(t *testing.T, c Case) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out(os.Stdout, "http://%s\n", l.Addr())
	if err := mock.New(c.Schedule).Serve(t.Context(), l); err != nil {
		t.Error(err)
	}
}

func out(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func clientRole(ctx context.Context, name, url string, c Case) (figure, error) {
	if name == "bare" {
		return bare(url, c)
	}
	r, err := Run(ctx, url, c)
	if err != nil {
		return figure{}, err
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	f := figure{TTFT: r.Measured.TTFT, ITL: r.Measured.ITL, CPU: r.Audit.CPUSeconds, Tokens: r.Measured.Tokens, Failed: r.Failed}
	f.Note = fmt.Sprintf("clock %s, read lag p99 %v, lag p99 %v, coalesced %.2f %%, %.0f MiB resident at most", r.Audit.Clock, round(r.Audit.ReadLagP99), round(r.Audit.LagP99),
		100*float64(r.Audit.CoalescedReads)/float64(max(r.Audit.Events, 1)), float64(u.Maxrss)/1024)
	if r.Void != "" {
		f.Note += "; void: " + r.Void
	}
	return f, nil
}

// bare is the least that a client can do: a goroutine per stream that reads the socket
// and counts, in user-space time.
func bare(url string, c Case) (figure, error) {
	host := strings.TrimPrefix(url, "http://")
	body := fmt.Sprintf(`{"model":"mock","prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"max_tokens":%d,"stream":true}`, c.Tokens)
	wire := fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
	schedule := load.Schedule(c.Load, c.Load.Requests, 1)
	conns := make([]net.Conn, len(schedule))
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", host); err != nil {
			return figure{}, err
		}
	}
	var f figure
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ttft, itl []int64
	cpu := processCPU()
	start := time.Now()
	for i, at := range schedule {
		time.Sleep(time.Until(start.Add(at)))
		wg.Go(func() {
			defer func() { _ = conns[i].Close() }()
			sent := time.Now()
			_, _ = conns[i].Write(wire)
			times, n := readBare(conns[i])
			mu.Lock()
			defer mu.Unlock()
			f.Tokens += n
			for k, t := range times {
				if k == 0 {
					ttft = append(ttft, int64(t.Sub(sent)))
				} else {
					itl = append(itl, int64(t.Sub(times[k-1])))
				}
			}
		})
	}
	wg.Wait()
	f.CPU = processCPU() - cpu
	f.TTFT, f.ITL = mock.QuantilesOf(ttft), mock.QuantilesOf(itl)
	return f, nil
}

func readBare(c net.Conn) (times []time.Time, tokens int) {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.Read(buf)
		now := time.Now()
		for range bytes.Count(buf[:n], []byte(`"text":`)) {
			times = append(times, now)
			tokens++
		}
		if err != nil || bytes.HasSuffix(buf[:n], []byte("0\r\n\r\n")) {
			return times, tokens
		}
	}
}

func processCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

var benchSchedule = mock.Schedule{First: 200 * time.Millisecond, Gap: 50 * time.Millisecond}

// BenchmarkClients prints the table of errors and costs: our client, a bare socket
// reader and, where PIPELINE_VLLM_CPU names an installation, `vllm bench serve`, one
// after the other on one core, the mock on another. Figures hold for this machine and
// only their ratios for others. It runs once, whatever b.N.
//
// PIPELINE_BENCH_REQUESTS makes it shorter; PIPELINE_BENCH_STREAMS=10000 measures as many
// streams at one token a second in one process of ours instead.
func BenchmarkClients(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	if b.N > 1 {
		b.Skip("runs once")
	}
	clients := []string{"ours", "bare", "vllm"}
	cases := []Case{Steady(benchSchedule, 60, 2000, 400), Burst(benchSchedule, 1000, 100)}
	if n, err := strconv.Atoi(os.Getenv("PIPELINE_BENCH_REQUESTS")); err == nil {
		cases = []Case{Steady(benchSchedule, 60, n, 100), Burst(benchSchedule, n, 100)}
	}
	if n, err := strconv.Atoi(os.Getenv("PIPELINE_BENCH_STREAMS")); err == nil {
		slow := mock.Schedule{First: time.Second, Gap: time.Second}
		clients, cases = clients[:1], []Case{Steady(slow, 1000, n, 20)}
	}
	for _, c := range cases {
		url := startMock(b, c)
		out(os.Stdout, "\n%s; first token at %v, then every %v\n", c.Name, c.Schedule.First, c.Schedule.Gap)
		out(os.Stdout, "%-6s %9s %9s %9s %9s %9s %9s %9s %9s %7s\n", "ms", "TTFT p50", "true", "TTFT p99", "true", "ITL p50", "true", "ITL p99", "true", "µs/tok")
		for _, client := range clients {
			if err := compare(b, client, url, c); err != nil {
				out(os.Stdout, "%-6s %v\n", client, err)
			}
		}
	}
}

// compare measures one client and prints its line.
func compare(b *testing.B, client, url string, c Case) error {
	b.Helper()
	if err := Reset(b.Context(), url); err != nil {
		return err
	}
	f, err := measureClient(b, client, url, c)
	if err != nil {
		return err
	}
	truth, err := Truth(b.Context(), url)
	if err != nil {
		return err
	}
	out(os.Stdout, "%-6s", client)
	for _, x := range []float64{f.TTFT.P50, truth.TTFT.P50, f.TTFT.P99, truth.TTFT.P99, f.ITL.P50, truth.ITL.P50, f.ITL.P99, truth.ITL.P99} {
		out(os.Stdout, " %9.2f", 1e3*x)
	}
	out(os.Stdout, " %7.1f  %d streams at most, %d failed; %s\n", 1e6*f.CPU/float64(max(f.Tokens, 1)), truth.Peak, f.Failed, f.Note)
	return nil
}

// measureClient runs a client as a process of its own on the second core.
func measureClient(b *testing.B, client, url string, c Case) (figure, error) {
	b.Helper()
	if client == "vllm" {
		return measureVLLM(b, url, c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return figure{}, err
	}
	cmd := pinned(b, 1, os.Args[0], "-test.run", "^TestRole$")
	cmd.Env = append(os.Environ(), roleVar+"="+client, urlVar+"="+url, caseVar+"="+string(text))
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		return figure{}, fmt.Errorf("%w: %s", err, printed)
	}
	var f figure
	line, _, _ := bytes.Cut(printed, []byte("\n"))
	return f, json.Unmarshal(line, &f)
}

// measureVLLM runs `vllm bench serve`; its processor time is that of the whole process
// less that of a run of one request of one token.
func measureVLLM(b *testing.B, url string, c Case) (figure, error) {
	b.Helper()
	dir := os.Getenv("PIPELINE_VLLM_CPU")
	program := filepath.Join(dir, "bin", "vllm")
	if _, err := os.Stat(program); dir == "" || err != nil {
		return figure{}, fmt.Errorf("not measured: PIPELINE_VLLM_CPU names no installation")
	}
	one := c
	one.Tokens, one.Load.Requests = 1, 1
	_, base, err := runVLLM(b, program, dir, url, one)
	if err != nil {
		return figure{}, err
	}
	if err := Reset(b.Context(), url); err != nil {
		return figure{}, err
	}
	f, cpu, err := runVLLM(b, program, dir, url, c)
	f.CPU = cpu - base
	return f, err
}

func runVLLM(b *testing.B, program, dir, url string, c Case) (f figure, cpu float64, err error) {
	b.Helper()
	folder := b.TempDir()
	rate := "inf"
	if c.Load.Rate > 0 {
		rate = strconv.FormatFloat(c.Load.Rate, 'g', -1, 64)
	}
	cmd := pinned(b, 1, program, "bench", "serve", "--backend", "openai", "--base-url", url, "--endpoint", "/v1/completions",
		"--model", "mock", "--tokenizer", filepath.Join(dir, "model"), "--dataset-name", "random", "--random-input-len", "16",
		"--random-output-len", strconv.Itoa(c.Tokens), "--num-prompts", strconv.Itoa(c.Load.Requests), "--request-rate", rate,
		"--ignore-eos", "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", folder, "--result-filename", "r.json")
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return f, 0, fmt.Errorf("vllm bench serve: %w: %s", err, text[max(len(text)-1500, 0):])
	}
	raw, err := os.ReadFile(filepath.Join(folder, "r.json"))
	if err != nil {
		return f, 0, err
	}
	var r struct {
		Failed     int     `json:"failed"`
		Tokens     int     `json:"total_output_tokens"`
		TTFTMedian float64 `json:"median_ttft_ms"`
		TTFTP99    float64 `json:"p99_ttft_ms"`
		ITLMedian  float64 `json:"median_itl_ms"`
		ITLP99     float64 `json:"p99_itl_ms"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return f, 0, err
	}
	f = figure{
		TTFT: mock.Quantiles{P50: r.TTFTMedian / 1e3, P99: r.TTFTP99 / 1e3}, ITL: mock.Quantiles{P50: r.ITLMedian / 1e3, P99: r.ITLP99 / 1e3},
		Tokens: c.Load.Requests * c.Tokens, Failed: r.Failed, Note: "whole process less start-up",
	}
	return f, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// pinned is a command on one core, where the machine has two and util-linux.
func pinned(b *testing.B, core int, argv ...string) *exec.Cmd {
	b.Helper()
	if path, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > core {
		argv = append([]string{path, "-c", strconv.Itoa(core)}, argv...)
	}
	return exec.CommandContext(b.Context(), argv[0], argv[1:]...)
}

func startMock(b *testing.B, c Case) (url string) {
	b.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		b.Fatal(err)
	}
	cmd := pinned(b, 0, os.Args[0], "-test.run", "^TestRole$", "-test.timeout", "1h")
	cmd.Env = append(os.Environ(), roleVar+"=mock", caseVar+"="+string(text))
	cmd.Stderr = os.Stderr
	printed, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, printed)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}
