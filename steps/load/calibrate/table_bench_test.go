package calibrate

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/load/mock"
)

// BenchmarkTable prints what the load generator promises beside what it does: its errors
// against the times that a server says itself, its processor time beside that of a bare
// socket reader, of `vllm bench serve` (where PIPELINE_VLLM_CPU names an installation) and of
// its successor in Rust (where PIPELINE_VLLM_BENCH names the program), 10,000 streams in one process, and a fast
// Poisson process. Client and mock are processes of their own on a core each; both keep their own times in one run.
//
// Nothing is asserted: figures hold for this machine, and only while nothing else runs.
// It runs once, whatever b.N, and takes five to six minutes. PIPELINE_BENCH_REQUESTS
// shortens it to a try of so many requests a row.
func BenchmarkTable(b *testing.B) {
	if testing.Short() || b.N > 1 {
		b.Skip("runs once, for minutes")
	}
	t := &table{b: b, began: time.Now()}
	out(os.Stdout, "\nload average before: %s; pauses of the machine: %s\n", loadAverage(), pauses(5*time.Second))
	n := 0
	if v, err := strconv.Atoi(os.Getenv("PIPELINE_BENCH_REQUESTS")); err == nil {
		n = v
	}
	t.steadyRows(n)
	t.burstRows(n)
	t.hogRow(n)
	t.streamsRow(n)
	t.arrivalsRow(n)
	t.print()
}

// The server of the table: what a busy GPU does.
var benchSchedule = mock.Schedule{First: 200 * time.Millisecond, Gap: 50 * time.Millisecond}

// size is a number of requests, the shortened one if there is one.
func size(full, short int) int {
	if short > 0 {
		return min(full, short)
	}
	return full
}

// table collects rows.
type table struct {
	b     *testing.B
	began time.Time
	rows  []benchRow
}

type benchRow struct{ what, measured, target, verdict string }

func (t *table) add(what, measured, target string, met bool) {
	verdict := "missed"
	if met {
		verdict = "met"
	}
	t.rows = append(t.rows, benchRow{what, measured, target, verdict})
}

// fail is a row that could not be measured.
func (t *table) fail(what, target string, err error) {
	text, _, _ := strings.Cut(err.Error(), "\n")
	t.rows = append(t.rows, benchRow{what, text, target, "open"})
}

// measuredRun is a run of a client with the server's own account of it.
type measuredRun struct {
	figure
	truth mock.Truth
}

// errors of a run in milliseconds: what the client says less what the server did.
func (m measuredRun) errors() (ttft50, ttft99, itl99 float64) {
	return 1e3 * (m.TTFT.P50 - m.truth.TTFT.P50), 1e3 * (m.TTFT.P99 - m.truth.TTFT.P99), 1e3 * (m.ITL.P99 - m.truth.ITL.P99)
}

// measure runs a client of ours, or the bare reader.
func (t *table) measure(client, url string, c Case) (measuredRun, error) {
	return t.account(client, url, c, func() (figure, error) { return runClient(t.b, client, url, c) })
}

// account is a run of a client against a mock that has forgotten what was before, with the
// mock's account of it. It prints the run's line.
func (t *table) account(client, url string, c Case, run func() (figure, error)) (m measuredRun, err error) {
	if _, err := call(t.b.Context(), http.MethodPost, url+"/reset"); err != nil {
		return m, err
	}
	if m.figure, err = run(); err != nil {
		return m, err
	}
	if m.truth, err = ask[mock.Truth](t.b.Context(), url+"/truth"); err != nil {
		return m, err
	}
	out(os.Stdout,
		"%s, %s:\n  reported TTFT p50 %.3f p99 %.3f, ITL p50 %.3f p99 %.3f ms\n  server's TTFT p50 %.3f p99 %.3f, ITL p50 %.3f p99 %.3f ms\n",
		client, c.Name, 1e3*m.TTFT.P50, 1e3*m.TTFT.P99, 1e3*m.ITL.P50, 1e3*m.ITL.P99,
		1e3*m.truth.TTFT.P50, 1e3*m.truth.TTFT.P99, 1e3*m.truth.ITL.P50, 1e3*m.truth.ITL.P99)
	out(os.Stdout, "  %d streams at most, %d failed, %v processor time a token, %.0f MiB resident\n", m.truth.Peak, m.Failed, m.perToken(),
		float64(m.Resident)/(1<<20))
	if r := m.Report; r != nil {
		a := r.Audit
		out(os.Stdout, "  clock %s, read lag p99 %v, send lag p50 %v p99 %v max %v, %.2f %% of events shared a read, void: %s\n",
			a.Clock, round(a.ReadLagP99), round(a.LagP50), round(a.LagP99), round(a.LagMax), coalescedPercent(r), orNo(r.Void))
	}
	return m, nil
}

func coalescedPercent(r *Report) float64 {
	return 100 * float64(r.Audit.CoalescedReads) / float64(max(r.Audit.Events, 1))
}

func orNo(s string) string {
	if s == "" {
		return "no"
	}
	return s
}

// steadyRows are the error in a steady open loop, and the cost of a token in it.
func (t *table) steadyRows(short int) {
	const what, target = "Poisson 60/s: TTFT error median / p99, ITL p99", "<= 0.3 / <= 1 / <= 0.2 ms"
	c := Steady(benchSchedule, 60, size(2000, short), 400)
	url, stop := start(t.b, mockCore, "mock", c)
	defer stop()
	ours, err := t.measure("ours", url, c)
	if err != nil {
		t.fail(what, target, err)
		return
	}
	t50, t99, i99 := ours.errors()
	t.add(fmt.Sprintf("%s (%d streams)", what, ours.truth.Peak), fmt.Sprintf("%+.3f / %+.3f / %+.3f ms", t50, t99, i99), target,
		ours.Failed == 0 && within(t50, 0.3) && within(t99, 1) && within(i99, 0.2))
	t.rivalRows(url, c, ours)
	const against = "processor time of a token beside a bare socket reader's"
	c = Steady(benchSchedule, 60, size(1200, short), 400) // as many streams, for less long
	bare, err := t.measure("bare", url, c)
	if err != nil {
		t.fail(against, "<= 1.3 x", err)
		return
	}
	ratio := float64(ours.perToken()) / float64(bare.perToken())
	t.add(against, fmt.Sprintf("%.1f and %.1f us: %.2f x", micros(ours), micros(bare), ratio), "<= 1.3 x", ratio <= 1.3)
}

func micros(m measuredRun) float64 { return float64(m.perToken()) / 1e3 }

// within reports whether an error is small, whatever its sign.
func within(v, limit float64) bool { return v <= limit && v >= -limit }

// rivalRows are the same load from clients of vLLM's, their start-up taken off, each
// alternately with ours.
func (t *table) rivalRows(url string, c Case, ours measuredRun) {
	const what = "processor time of a token beside "
	all, tokenizer, err := rivals()
	if err != nil {
		t.fail(what+"vllm bench serve's", "<= 0.5 x", err)
		return
	}
	for _, r := range all {
		if err := t.rivalRow(what+r.name+"'s", url, tokenizer, c, r, ours); err != nil {
			t.fail(what+r.name+"'s", fmt.Sprintf("<= %g x", r.target), err)
		}
	}
}

func (t *table) rivalRow(what, url, tokenizer string, c Case, r rival, ours measuredRun) error {
	startUp, err := r.startUp(t.b, tokenizer, url, c)
	if err != nil {
		return err
	}
	runs := [2]measuredRun{0: ours}
	var theirs [2]measuredRun
	for i := range theirs {
		if i > 0 {
			if runs[i], err = t.measure("ours", url, c); err != nil {
				return err
			}
		}
		if theirs[i], err = t.account(r.name, url, c, func() (figure, error) { return r.run(t.b, tokenizer, url, c) }); err != nil {
			return err
		}
		theirs[i].CPU -= startUp
	}
	us, them := (micros(runs[0])+micros(runs[1]))/2, (micros(theirs[0])+micros(theirs[1]))/2
	t50, t99, i99 := theirs[0].errors()
	t.add(what, fmt.Sprintf("%.1f and %.1f us: %.2f x (%.2f and %.2f x)", us, them, us/them,
		micros(runs[0])/micros(theirs[0]), micros(runs[1])/micros(theirs[1])), fmt.Sprintf("<= %g x", r.target), us/them <= r.target)
	t.rows = append(t.rows,
		benchRow{"  (" + r.name + ": TTFT error median / p99, ITL p99)", fmt.Sprintf("%+.3f / %+.3f / %+.3f ms", t50, t99, i99), "", ""},
		benchRow{"  (most memory, ours and " + r.name + "'s)", fmt.Sprintf("%d and %d MiB", ours.Resident>>20, theirs[0].Resident>>20), "", ""})
	return nil
}

// burstRows are bursts beside the bare reader, whose connections are open before as ours are, and beside the other
// clients. What the server needs to accept a burst is in the times of all of them.
func (t *table) burstRows(short int) {
	for _, n := range []int{1000, 5000} {
		c := Burst(benchSchedule, size(n, short), 100)
		what, target := fmt.Sprintf("%d streams at once: TTFT median beside the bare reader's", c.Load.Requests), "<= 2 ms above"
		url, stop := start(t.b, mockCore, "mock", c)
		ours, err := t.measure("ours", url, c)
		var bare measuredRun
		if err == nil {
			bare, err = t.measure("bare", url, c)
		}
		if err != nil {
			t.fail(what, target, err)
			stop()
			continue
		}
		text := fmt.Sprintf("%.1f and %.1f ms (server's own %.1f)", 1e3*ours.TTFT.P50, 1e3*bare.TTFT.P50, 1e3*ours.truth.TTFT.P50)
		if all, tokenizer, err := rivals(); err == nil {
			for _, r := range all {
				if v, err := t.account(r.name, url, c, func() (figure, error) { return r.run(t.b, tokenizer, url, c) }); err == nil {
					text += fmt.Sprintf("; %s %.1f", r.name, 1e3*v.TTFT.P50)
				}
			}
		}
		stop()
		t.add(what, text, target, ours.Failed == 0 && ours.TTFT.P50 <= bare.TTFT.P50+0.002)
	}
}

// hogRow is the steady load while another process takes the client's core.
func (t *table) hogRow(short int) {
	const what, target = "Poisson 60/s, another process on the client's core: TTFT error by kernel stamps", "<= 0.5 / <= 5 ms"
	c := Steady(benchSchedule, 60, size(1500, short), 400)
	c.UserSpace = true
	url, stop := start(t.b, mockCore, "mock", c)
	defer stop()
	_, stopHog := start(t.b, clientCore, "hog", c)
	defer stopHog()
	m, err := t.measure("ours", url, c)
	if err != nil {
		t.fail(what, target, err)
		return
	}
	t50, t99, i99 := m.errors()
	t.add(what, fmt.Sprintf("%+.3f / %+.3f ms, ITL p99 %+.3f", t50, t99, i99), target, m.Failed == 0 && within(t50, 0.5) && within(t99, 5))
	seen := measuredRun{figure{TTFT: m.Report.Seen.TTFT, ITL: m.Report.Seen.ITL}, m.truth}
	t50, t99, i99 = seen.errors()
	t.rows = append(t.rows,
		benchRow{"  (the same run by the times in user space)", fmt.Sprintf("%+.3f / %+.3f ms, ITL p99 %+.3f", t50, t99, i99), "", ""},
		benchRow{"  (events that shared a read; void by default limits)", fmt.Sprintf("%.2f %%, early by at most %v; %s",
			coalescedPercent(m.Report), round(m.Report.Audit.CoalescedMax), orNo(m.Report.Void)), "", ""})
}

// streamsRow holds many slow streams in one process, which may use both cores: so may
// the mock.
func (t *table) streamsRow(short int) {
	c := Steady(mock.Schedule{First: time.Second, Gap: time.Second}, 1000, size(10_000, short), 20)
	what, target := fmt.Sprintf("%d streams at one token a second: failed, memory of each", c.Load.Requests), "0, <= 64 KiB"
	url, stop := start(t.b, anyCore, "mock", c)
	defer stop()
	m, err := t.measure(everywhere, url, c)
	if err != nil {
		t.fail(what, target, err)
		return
	}
	each := float64(m.Resident) / float64(c.Load.Requests) / 1024
	t.add(what, fmt.Sprintf("%d failed, %.1f KiB, %d open at once", m.Failed, each, m.truth.Peak), target, m.Failed == 0 && each <= 64)
}

// arrivalsRow is a fast Poisson process by the server's account of its arrivals.
func (t *table) arrivalsRow(short int) {
	const what, target = "Poisson 2,000/s: rate, Kolmogorov-Smirnov by windows of 2,000, lag p99", "no drift, passes, <= 1 ms"
	c := Steady(mock.Schedule{First: time.Millisecond, Gap: time.Millisecond}, 2000, size(20_000, 10*short), 1)
	url, stop := start(t.b, mockCore, "mock", c)
	defer stop()
	m, err := t.measure("ours", url, c)
	if err != nil {
		t.fail(what, target, err)
		return
	}
	a, lag := m.Report.Arrivals, time.Duration(m.Report.Audit.LagP99)
	drift := a.Rate/c.Load.Rate - 1
	t.add(what, fmt.Sprintf("%.1f/s (%+.2f %%), %d of %d (all: %.4f), %v", a.Rate, 100*drift, a.Passed, a.Windows, a.Distance,
		lag.Round(time.Microsecond)), target,
		m.Failed == 0 && within(drift, 0.005) && a.Windows > 0 && a.Passed >= a.Windows-1 && lag <= time.Millisecond)
}

func (t *table) print() {
	out(os.Stdout, "\n%-86s  %-52s  %-28s  %s\n", "what", "measured", "target", "verdict")
	for _, r := range t.rows {
		out(os.Stdout, "%-86s  %-52s  %-28s  %s\n", r.what, r.measured, r.target, r.verdict)
	}
	out(os.Stdout, "load average after: %s; %v in all. Above 2 other work was in the way, and the figures say nothing.\n\n", loadAverage(),
		time.Since(t.began).Round(time.Second))
}

// pauses is how often and how long a loop that only reads the clock was kept from it: no client that runs here is
// more punctual.
func pauses(total time.Duration) string {
	const counts = 200 * time.Microsecond
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var number int
	var lost, longest time.Duration
	for began, last := time.Now(), time.Now(); last.Sub(began) < total; {
		now := time.Now()
		if gap := now.Sub(last); gap > counts {
			number, lost, longest = number+1, lost+gap, max(longest, gap)
		}
		last = now
	}
	return fmt.Sprintf("%d of more than %v in %v, %.2f %% of the time, the longest %v", number, counts, total,
		100*float64(lost)/float64(total), longest.Round(10*time.Microsecond))
}

// loadAverage is the machine's, where it says it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
