package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// equalGolden compares a value, as JSON, with a file of testdata.
func equalGolden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", "golden", name+".json")
	golden.Equal(t, path, got)
}

// nvidia is a machine whose nvidia-smi answers a query for the state of GPUs, with its extended fields or without.
func nvidia(csv string, extended bool) *probe.Prober {
	return probe.New(program(func(line string) string {
		switch {
		case !strings.HasPrefix(line, "nvidia-smi "):
			return ""
		case strings.Contains(line, "mig.mode.current") != extended:
			return "FAIL"
		}
		return csv + "\n"
	}))
}

func TestState(t *testing.T) {
	for name, extended := range map[string]bool{"h100x2-580": true, "t4-525-hot": true, "geforce-old": false, "mig": true, "h200-580": true,
		"h200-580-idle": true} {
		t.Run(name, func(t *testing.T) {
			got, err := nvidia(file(t, "state/"+name+".csv"), extended).GPUs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			equalGolden(t, name, got)
		})
	}
}

// processes returns the processes in the output of nvidia-smi.
func processes(t *testing.T, csv string) []probe.Process {
	t.Helper()
	got, err := probe.New(program(func(string) string { return csv + "\n" })).Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestProcesses(t *testing.T) {
	equalGolden(t, "apps", processes(t, file(t, "state/apps.csv")))
	equalGolden(t, "h200-580-apps", processes(t, file(t, "state/h200-580-apps.csv")))
	if got := processes(t, file(t, "state/apps-odd.csv")); got != nil {
		t.Errorf("processes of lines that are none: %v", got)
	}
}

// rocm is a machine whose rocm-smi lists GPUs and processes.
func rocm(gpus, processes string) *probe.Prober {
	return probe.New(program(func(line string) string {
		switch {
		case !strings.HasPrefix(line, "rocm-smi "):
			return ""
		case strings.Contains(line, "--showpids"):
			return processes + "\n"
		}
		return gpus + "\n"
	}))
}

func TestROCm(t *testing.T) {
	p := rocm("WARNING: low power state\n"+file(t, "state/mi300x.json"), file(t, "state/rocm-pids.json"))
	gpus, err := p.GPUs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equalGolden(t, "mi300x", gpus)
	found, err := p.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equalGolden(t, "rocm-pids", found)
	p = rocm(file(t, "state/mi300x.json"), "")
	if _, err := p.GPUs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if none, err := p.Processes(t.Context()); none != nil || err != nil {
		t.Errorf("nothing is %v, %v", none, err)
	}
}

func TestNICs(t *testing.T) {
	nics := probe.NICs(os.DirFS("testdata/nics"))
	equalGolden(t, "nics", nics)
	if got := nics[0]; got.Name != "mlx5_0" || got.Tx != 4000 || got.Rx != 1000 {
		t.Errorf("an RDMA counter counts words of four octets: %+v", got)
	}
}

func TestSlowdown(t *testing.T) {
	row, _, _ := strings.Cut(file(t, "state/h100x2-580.csv"), "\n")
	row = row[:strings.LastIndex(row, ",")+1]
	for text, want := range map[string]struct {
		all, throttling string
		known           bool
	}{
		"0x0000000000000000": {"none", "none", true},
		"0x0000000000000005": {"idle, power cap", "none", true},
		"0x0000000000000068": {"hardware slowdown, thermal slowdown, hardware thermal slowdown",
			"hardware slowdown, thermal slowdown, hardware thermal slowdown", true},
		"0x0000000000000080": {"power brake", "power brake", true},
		"0x0000000000000400": {"reason 0x400", "none", true},
		"[N/A]":              {"none", "none", false},
		"Not Active":         {"none", "none", false},
	} {
		gpus, err := nvidia(row+" "+text, true).GPUs(t.Context())
		if err != nil || len(gpus) != 1 {
			t.Fatalf("%d GPUs, %v", len(gpus), err)
		}
		if s := gpus[0].Slowdown; s.String() != want.all || s.Throttling().String() != want.throttling || gpus[0].SlowdownKnown != want.known {
			t.Errorf("%s: %s, %s, %v", text, s, s.Throttling(), gpus[0].SlowdownKnown)
		}
	}
}

// tools answers as nvidia-smi and rocm-smi do, by the first words of a command; what is
// not there cannot be started, and "FAIL" is an exit with an error.
type tools struct {
	answers map[string]string
	asked   *[]string
}

func (s tools) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	if s.asked != nil {
		*s.asked = append(*s.asked, strings.Join(c.Argv, " "))
	}
	here := false
	for prefix, answer := range s.answers {
		here = here || strings.HasPrefix(prefix, c.Argv[0])
		if !strings.HasPrefix(prefix, c.Argv[0]) || !strings.Contains(strings.Join(c.Argv, " "), strings.TrimPrefix(prefix, c.Argv[0]+" ")) {
			continue
		}
		return answered(c, answer)
	}
	if !here {
		return nil, fs.ErrNotExist
	}
	return answered(c, "FAIL")
}

func answered(c steps.Command, answer string) (steps.Child, error) {
	ch := ended{done: make(chan struct{})}
	close(ch.done)
	if answer == "FAIL" {
		ch.err = errors.New("exit status 2")
		return ch, nil
	}
	_, err := c.Stdout.Write([]byte(answer))
	return ch, err
}

// A driver refuses a field that it does not know: the older name is tried then, and used
// at once the next time.
func TestOldDriverIsAskedInItsWords(t *testing.T) {
	var asked []string
	p := probe.New(tools{map[string]string{"nvidia-smi clocks_throttle_reasons.active": file(t, "state/t4-525-hot.csv")}, &asked})
	for range 2 {
		gpus, err := p.GPUs(context.Background())
		if err != nil || len(gpus) != 1 || gpus[0].Slowdown.Throttling() == 0 {
			t.Fatalf("%v, %v", gpus, err)
		}
	}
	if len(asked) != 3 {
		t.Errorf("asked %d times: %v", len(asked), asked)
	}
}

func TestSnapshot(t *testing.T) {
	nvidia := map[string]string{
		"nvidia-smi clocks_event_reasons.active": file(t, "state/h100x2-580.csv"),
		"nvidia-smi --query-compute-apps":        file(t, "state/apps.csv"),
	}
	amd := map[string]string{"rocm-smi --showproductname": file(t, "state/mi300x.json"), "rocm-smi --showpids": file(t,
		"state/rocm-pids.json")}
	for name, tt := range map[string]struct {
		answers         map[string]string
		gpus, processes int
		fails           bool
	}{
		"nvidia":                 {nvidia, 2, 3, false},
		"amd":                    {amd, 2, 2, false},
		"none":                   {nil, 0, 0, true},
		"no driver":              {map[string]string{"nvidia-smi --query-gpu": "FAIL"}, 0, 0, true},
		"processes are not told": {map[string]string{"nvidia-smi --query-gpu": nvidia["nvidia-smi clocks_event_reasons.active"]}, 2, 0, true},
		"garbage":                {map[string]string{"nvidia-smi --query-gpu": "x, y\n"}, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := probe.New(tools{answers: tt.answers}).Snapshot(context.Background())
			if len(s.GPUs) != tt.gpus || len(s.Processes) != tt.processes || (s.Err != nil) != tt.fails {
				t.Errorf("%d GPUs, %d processes, %v", len(s.GPUs), len(s.Processes), s.Err)
			}
		})
	}
}

// watched makes a run of n snapshots of two GPUs and lets f change each.
func watched(n int, f func(i int, s *probe.Snapshot)) probe.Watched {
	w := probe.Watched{GPUs: []string{"GPU-a"}, Owner: func(pid int) probe.Owner {
		switch {
		case pid < 100:
			return probe.OwnerUs
		case pid < 200:
			return probe.OwnerForeign
		}
		return probe.OwnerUnknown
	}}
	for i := range n {
		s := probe.Snapshot{At: time.Unix(int64(i), 0), GPUs: []probe.GPU{
			{Index: 0, UUID: "GPU-a", SlowdownKnown: true, Slowdown: probe.PowerCap},
			{Index: 1, UUID: "GPU-b", SlowdownKnown: true, Slowdown: probe.HardwareThermal, Errors: int64(i)},
		}, Processes: []probe.Process{{GPU: "GPU-a", PID: 7, Memory: 1 << 30}, {GPU: "GPU-b", PID: 150}}}
		f(i, &s)
		w.Snapshots = append(w.Snapshots, s)
	}
	return w
}

func TestJudge(t *testing.T) {
	hot := func(every int) func(int, *probe.Snapshot) {
		return func(i int, s *probe.Snapshot) {
			if i%every == 0 {
				s.GPUs[0].Slowdown |= probe.SoftwareThermal
			}
		}
	}
	tests := map[string]struct {
		w    probe.Watched
		want string // part of the reason, "" for none
	}{
		"quiet, with another GPU in trouble": {watched(10, func(int, *probe.Snapshot) {}), ""},
		"hot":                                {watched(10, hot(2)), "GPU 0 (GPU-a) was throttled in 5 of 10 looks (thermal slowdown)"},
		"hot for a moment":                   {watched(100, hot(20)), ""},
		"hot, not told": {watched(4,
			func(_ int, s *probe.Snapshot) { s.GPUs[0].SlowdownKnown = false; s.GPUs[0].Slowdown = probe.PowerBrake }), ""},
		"foreign": {watched(5, func(i int, s *probe.Snapshot) {
			if i == 3 {
				s.Processes = append(s.Processes, probe.Process{GPU: "GPU-a", PID: 123, Name: "python3", Memory: 2 << 30})
			}
		}), "process 123 (python3) with 2.0 GiB used GPU 0 (GPU-a) during the run"},
		"foreign on a GPU that is not told": {watched(2, func(_ int, s *probe.Snapshot) {
			s.Processes = append(s.Processes,
				probe.Process{PID: 123, Memory: probe.Unknown})
		}), "process 123 used a GPU"},
		"unknown": {watched(2, func(_ int, s *probe.Snapshot) {
			s.Processes = append(s.Processes,
				probe.Process{GPU: "GPU-a", PID: 300})
		}), ""},
		"memory errors": {watched(3, func(i int, s *probe.Snapshot) { s.GPUs[0].Errors = int64(4 + i) }),
			"had 1 uncorrected memory errors"},
		"nothing seen": {probe.Watched{Owner: func(int) probe.Owner { return probe.OwnerForeign }}, ""},
	}
	known := watched(2, func(_ int, s *probe.Snapshot) {
		s.Processes = append(s.Processes, probe.Process{GPU: "GPU-a", PID: 123, Name: "Xorg"})
	})
	known.Known = []probe.Process{{GPU: "GPU-a", PID: 123, Name: "Xorg"}}
	tests["foreign from the beginning"] = struct {
		w    probe.Watched
		want string
	}{known, ""}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := probe.Judge(tt.w)
			if !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	gpu := map[string]string{"gpu_count": "8", "gpu_name": "H100", "gpu_driver": "550", "kernel": "6", "cpu_model": "x"}
	other := map[string]string{"gpu_count": "4", "gpu_name": "H100", "gpu_driver": "580", "kernel": "6", "cpu_model": "y"}
	hardFacts, softFacts := probe.Differences(gpu, other)
	if diff := cmp.Diff([][]string{{"gpu_count"}, {"cpu_model", "gpu_driver"}}, [][]string{hardFacts, softFacts}); diff != "" {
		t.Error(diff)
	}
	cpu := map[string]string{"gpu_count": probe.Unavailable, "cpu_model": "x", "kernel": "6"}
	hardFacts, _ = probe.Differences(cpu, map[string]string{"cpu_model": "y", "kernel": "7"})
	if !cmp.Equal(hardFacts, []string{"cpu_model"}) {
		t.Errorf("hard: %v", hardFacts)
	}
	if probe.HardKey(gpu) == probe.HardKey(other) ||
		probe.HardKey(gpu) != probe.HardKey(map[string]string{"gpu_count": "8", "gpu_name": "H100", "kernel": "7"}) {
		t.Error("the key does not follow the hard facts")
	}
}

// sane says what is wrong with a text that came from outside.
func sane(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if len(text) > 200+len("…") || strings.ContainsAny(text, "\n\t\x1b") {
			t.Errorf("not one short printable line: %q", text)
		}
	}
}

func FuzzState(f *testing.F) {
	for _, name := range []string{"h100x2-580", "t4-525-hot", "geforce-old", "mig"} {
		data, err := os.ReadFile("testdata/state/" + name + ".csv")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), name != "geforce-old")
	}
	f.Fuzz(func(t *testing.T, data string, extended bool) {
		gpus, err := nvidia(data, extended).GPUs(t.Context())
		if err != nil {
			return
		}
		for _, g := range gpus {
			sane(t, g.String(), g.Name, g.Driver, g.MIG, g.Persistence)
			if g.Index < 0 || g.MemoryUsed < probe.Unknown || g.Power < probe.Unknown || math.IsNaN(g.Power) || g.Errors < probe.Unknown {
				t.Errorf("%+v", g)
			}
		}
	})
}

func FuzzProcesses(f *testing.F) {
	f.Add("GPU-5, 41233, 70894, VLLM::EngineCore\n")
	f.Add("GPU-5, [N/A], [N/A], \x1b[2J\n")
	f.Add("GPU-5, 41233, 70894\nGPU-5, 41233, -70894, x\n")
	f.Fuzz(func(t *testing.T, data string) {
		for _, p := range processes(t, data) {
			sane(t, p.GPU, p.Name)
			if p.PID < 0 || p.Memory < probe.Unknown {
				t.Errorf("%+v", p)
			}
		}
	})
}

func FuzzROCm(f *testing.F) {
	f.Add(`{"card0": {"Unique ID": "0x1", "GPU use (%)": "NaN"}, "system": {"PID1": "a, 1, 2, 3, 4"}}`)
	f.Fuzz(func(t *testing.T, data string) {
		p := rocm(data, data)
		if gpus, err := p.GPUs(t.Context()); err == nil {
			for _, g := range gpus {
				sane(t, g.String(), g.Name, g.Driver)
			}
		}
		if processes, err := p.Processes(t.Context()); err == nil {
			for _, p := range processes {
				sane(t, p.Name)
			}
		}
	})
}

func FuzzLinks(f *testing.F) {
	f.Add("GPU 0: X (UUID: GPU-a)\n\t Link 0: Data Tx: 18446744073709551615 KiB\n")
	state, err := os.ReadFile("testdata/state/h100x2-580.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data string) {
		p := probe.New(tools{answers: map[string]string{"nvidia-smi clocks_event_reasons.active": string(state), "nvidia-smi nvlink": data}})
		if _, err := p.GPUs(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, nic := range p.Links(t.Context()) {
			sane(t, nic.Name)
		}
	})
}

// NVLinks are listed once NVIDIA's GPUs have been seen.
func TestLinks(t *testing.T) {
	p := probe.New(tools{answers: map[string]string{
		"nvidia-smi clocks_event_reasons.active": file(t, "state/h100x2-580.csv"),
		"nvidia-smi nvlink":                      file(t, "state/nvlink.txt"),
	}})
	nvlinks := func() (found []probe.NIC) {
		for _, nic := range p.Links(context.Background()) {
			if nic.NVLink {
				found = append(found, nic)
			}
		}
		return found
	}
	if got := nvlinks(); got != nil {
		t.Errorf("no GPU was seen yet: %v", got)
	}
	if _, err := p.GPUs(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := nvlinks()
	equalGolden(t, "nvlink", got)
	if len(got) != 2 || got[0].Name != "nvlink/GPU-1a2b3c4d-8888-d1eb-5965-a70cbb91d136" || got[0].Tx != 7<<10 || got[0].Rx != 9<<10 {
		t.Errorf("%+v", got)
	}
}
