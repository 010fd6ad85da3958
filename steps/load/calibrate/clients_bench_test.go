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

// roleVar makes this test program one of the processes of the comparison.
const roleVar = "PIPELINE_BENCH_ROLE"

// figure is what a client says of a run: times in seconds.
type figure struct {
	TTFT, ITL mock.Quantiles
	CPU       float64
	Tokens    int
	Failed    int
	Note      string
}

// role carries out one role and ends the process; it returns where there is none.
func role() {
	name := os.Getenv(roleVar)
	if name == "" {
		return
	}
	err := fmt.Errorf("no role %q", name)
	switch name {
	case "mock":
		err = mockRole()
	case "ours", "bare":
		var c Case
		if err = json.Unmarshal([]byte(os.Args[1]), &c); err == nil {
			err = clientRole(name, os.Args[2], c)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func mockRole() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return mock.New(benchSchedule).Serve(context.Background(), l)
}

func clientRole(name, url string, c Case) error {
	f := figure{}
	if name == "bare" {
		var err error
		if f, err = bare(url, c); err != nil {
			return err
		}
	} else {
		r, err := Run(context.Background(), url, c)
		if err != nil {
			return err
		}
		f = figure{TTFT: r.Measured.TTFT, ITL: r.Measured.ITL, CPU: r.Audit.CPUSeconds, Tokens: r.Measured.Tokens, Failed: r.Failed}
		f.Note = fmt.Sprintf("clock %s, read lag p99 %v, lag p99 %v, coalesced %.2f %%", r.Audit.Clock, round(r.Audit.ReadLagP99), round(r.Audit.LagP99),
			100*float64(r.Audit.CoalescedReads)/float64(max(r.Audit.Events, 1)))
		if r.Void != "" {
			f.Note += "; void: " + r.Void
		}
	}
	return json.NewEncoder(os.Stdout).Encode(f)
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
// PIPELINE_BENCH_STREAMS=10000 adds as many streams at one token a second in one process.
func BenchmarkClients(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	for range b.N {
		if b.N > 1 {
			b.Skip("runs once")
		}
	}
	cases := []Case{Steady(benchSchedule, 60, 2000, 400), Burst(benchSchedule, 1000, 100)}
	if n, err := strconv.Atoi(os.Getenv("PIPELINE_BENCH_REQUESTS")); err == nil {
		cases = []Case{Steady(benchSchedule, 60, n, 100), Burst(benchSchedule, n, 100)}
	}
	for _, c := range cases {
		url := startMock(b, benchSchedule)
		fmt.Printf("\n%s; first token at %v, then every %v\n", c.Name, c.Schedule.First, c.Schedule.Gap)
		fmt.Printf("%-18s %9s %9s %9s %9s %9s %9s %9s %9s %10s\n", "milliseconds", "TTFT p50", "true", "TTFT p99", "true", "ITL p50", "true", "ITL p99", "true", "CPU µs/tok")
		for _, client := range []string{"ours", "bare", "vllm"} {
			if err := Reset(b.Context(), url); err != nil {
				b.Fatal(err)
			}
			f, err := measureClient(b, client, url, c)
			if err != nil {
				fmt.Printf("%-18s %v\n", client, err)
				continue
			}
			truth, err := Truth(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			ms := func(s float64) string { return fmt.Sprintf("%9.2f", 1e3*s) }
			fmt.Printf("%-18s %s %s %s %s %s %s %s %s %10.1f  %s (peak %d, failed %d)\n", client, ms(f.TTFT.P50), ms(truth.TTFT.P50), ms(f.TTFT.P99), ms(truth.TTFT.P99),
				ms(f.ITL.P50), ms(truth.ITL.P50), ms(f.ITL.P99), ms(truth.ITL.P99), 1e6*f.CPU/float64(max(f.Tokens, 1)), f.Note, truth.Peak, f.Failed)
		}
	}
}

// measureClient runs a client as a process of its own on the second core.
func measureClient(b *testing.B, client, url string, c Case) (figure, error) {
	if client == "vllm" {
		return measureVLLM(b, url, c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return figure{}, err
	}
	cmd := pinned(b, 1, os.Args[0], string(text), url)
	cmd.Env = append(os.Environ(), roleVar+"="+client)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return figure{}, err
	}
	var f figure
	return f, json.Unmarshal(out, &f)
}

// measureVLLM runs `vllm bench serve`; its processor time is that of the whole process
// less that of a run of one request of one token.
func measureVLLM(b *testing.B, url string, c Case) (figure, error) {
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
	out := b.TempDir()
	rate := "inf"
	if c.Load.Rate > 0 {
		rate = strconv.FormatFloat(c.Load.Rate, 'g', -1, 64)
	}
	cmd := pinned(b, 1, program, "bench", "serve", "--backend", "openai", "--base-url", url, "--endpoint", "/v1/completions",
		"--model", "mock", "--tokenizer", filepath.Join(dir, "model"), "--dataset-name", "random", "--random-input-len", "16",
		"--random-output-len", strconv.Itoa(c.Tokens), "--num-prompts", strconv.Itoa(c.Load.Requests), "--request-rate", rate,
		"--ignore-eos", "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", out, "--result-filename", "r.json")
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return f, 0, fmt.Errorf("vllm bench serve: %w: %s", err, text[max(len(text)-1500, 0):])
	}
	raw, err := os.ReadFile(filepath.Join(out, "r.json"))
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

func startMock(b *testing.B, _ mock.Schedule) (url string) {
	b.Helper()
	cmd := pinned(b, 0, os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=mock")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}
