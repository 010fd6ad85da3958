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
	"runtime"
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

// The cores of the processes: clients must not take the server's.
const (
	mockCore   = 0
	clientCore = 1
	anyCore    = -1
)

// everywhere is our client on all cores.
const everywhere = "ours on all cores"

// figure is what a client says of a run: times in seconds.
type figure struct {
	TTFT, ITL mock.Quantiles
	CPU       float64
	Tokens    int
	Failed    int
	Resident  int64   // the most memory that the process had, in bytes
	Report    *Report // of our own client
}

// perToken is the client's processor time for a token.
func (f figure) perToken() time.Duration {
	return time.Duration(f.CPU / float64(max(f.Tokens, 1)) * 1e9)
}

// TestRole is a process of the comparison and no test: it says in its first line what
// the benchmark waits for.
func TestRole(t *testing.T) {
	name, url := os.Getenv(roleVar), os.Getenv(urlVar)
	if name == "" {
		t.Skip("a process of BenchmarkTable")
	}
	var c Case
	if err := json.Unmarshal([]byte(os.Getenv(caseVar)), &c); err != nil {
		t.Fatal(err)
	}
	switch name {
	case "mock":
		mockRole(t, c)
		return
	case "hog":
		out(os.Stdout, "spinning\n")
		for t.Context().Err() == nil { // until it is killed
		}
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

func clientRole(ctx context.Context, name, url string, c Case) (f figure, err error) {
	if name == "bare" {
		f, err = bare(url, c)
	} else {
		var r Report
		if r, err = Run(ctx, url, c); err == nil {
			f = figure{TTFT: r.Measured.TTFT, ITL: r.Measured.ITL, CPU: r.Audit.CPUSeconds, Tokens: r.Measured.Tokens, Failed: r.Failed, Report: &r}
		}
	}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	f.Resident = u.Maxrss << 10
	return f, err
}

// bare is the least that a client can do: a goroutine per stream that reads the socket
// and counts, in user-space time.
func bare(url string, c Case) (figure, error) {
	host := strings.TrimPrefix(url, "http://")
	body := fmt.Sprintf(`{"model":"mock","prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"max_tokens":%d,"stream":true}`, c.Tokens)
	wire := fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		host, len(body), body)
	schedule := load.AllArrivals().Schedule(c.Load, c.Load.Requests, 1)
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
		// real time: the client is measured on this machine's clock
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

// runClient runs a client as a process of its own on its core.
func runClient(b *testing.B, client, url string, c Case) (f figure, err error) {
	b.Helper()
	core := clientCore
	if client == everywhere {
		core = anyCore
	}
	cmd := role(b, core, client, url, c)
	printed, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%w: %s", err, printed)
	}
	line, _, _ := bytes.Cut(printed, []byte("\n"))
	return f, json.Unmarshal(line, &f)
}

// role is this test program as another process.
func role(b *testing.B, core int, name, url string, c Case) *exec.Cmd {
	b.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		b.Fatal(err)
	}
	cmd := pinned(b, core, os.Args[0], "-test.run", "^TestRole$", "-test.timeout", "1h")
	cmd.Env = append(os.Environ(), roleVar+"="+name, urlVar+"="+url, caseVar+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// pinned is a command on one core, where the machine has two and util-linux.
func pinned(b *testing.B, core int, argv ...string) *exec.Cmd {
	b.Helper()
	if path, err := exec.LookPath("taskset"); err == nil && core != anyCore && runtime.NumCPU() > core {
		argv = append([]string{path, "-c", fmt.Sprint(core)}, argv...)
	}
	return exec.CommandContext(b.Context(), argv[0], argv[1:]...)
}

// start starts a role that lives until stop, and returns its first line.
func start(b *testing.B, core int, name string, c Case) (line string, stop func()) {
	b.Helper()
	cmd := role(b, core, name, "", c)
	printed, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, printed)
		_ = cmd.Wait()
	})
	b.Cleanup(stop)
	line, err = bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line), stop
}
