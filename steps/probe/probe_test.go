package probe_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program answers command lines; nothing is a program that is not there.
type program func(line string) string

func (p program) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	answer := p(strings.Join(c.Argv, " "))
	if answer == "" {
		return nil, fs.ErrNotExist
	}
	return answered(c, answer)
}

// afar describes a machine whose shell tells a text.
func afar(t *testing.T, text string) map[string]string {
	t.Helper()
	got, err := probe.Remote(t.Context(), program(func(line string) string {
		if strings.HasPrefix(line, "sh ") {
			return text
		}
		return ""
	}))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCPUOfARM(t *testing.T) {
	text := mark + "proc/cpuinfo\nprocessor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
	if got := afar(t, text)["cpu_model"]; got != "implementer 0x41 part 0xd4f" {
		t.Errorf("got %s", got)
	}
}

// smi answers as nvidia-smi; a missing answer is a program that is not there.
type smi struct{ csv, topo string }

func (s smi) Spawn(_ context.Context, c steps.Command) (steps.Child, error) {
	answer := s.csv
	if c.Argv[1] == "topo" {
		answer = s.topo
	}
	if answer == "" {
		return nil, fs.ErrNotExist
	}
	text, failed := strings.CutPrefix(answer, "FAIL ")
	if _, err := c.Stdout.Write([]byte(text)); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	close(done)
	ch := ended{done: done}
	if failed {
		ch.err = errors.New("exit status 9")
	}
	return ch, nil
}

type ended struct {
	done chan struct{}
	err  error
}

func (ended) PID() int                              { return 1 }
func (ended) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }
func (e ended) Done() <-chan struct{}               { return e.done }
func (e ended) Wait() error                         { return e.err }
func (ended) Signal(string) error                   { return nil }

func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// gpuFacts returns the facts of a machine that describe its GPUs.
func gpuFacts(t *testing.T, sp steps.Spawner) map[string]string {
	t.Helper()
	got := probe.Machine(t.Context(), sp)
	maps.DeleteFunc(got, func(fact, _ string) bool { return !strings.HasPrefix(fact, "gpu_") })
	return got
}

func TestGPUs(t *testing.T) {
	tests := map[string]struct {
		smi  smi
		want map[string]string
	}{
		"two of a kind": {
			smi: smi{file(t, "h100x2.csv"), file(t, "h100x2.topo")},
			want: map[string]string{
				"gpu_count": "2", "gpu_name": "NVIDIA H100 80GB HBM3", "gpu_memory_mib": "81559", "gpu_driver": "550.54.15",
				"gpu_power_limit_w": "700.00", "gpu_max_clock_mhz": "1980", "gpu_pcie_gen": "5", "gpu_pcie_width": "16",
				"gpu_mig": "Disabled", "gpu_ecc": "Enabled", "gpu_persistence": "Enabled",
				"gpu_topology": "5aff9034a207", "gpu_links": "NV18",
			},
		},
		"one, as a machine answered": {
			smi: smi{file(t, "h200.csv"), file(t, "h200.topo")},
			want: map[string]string{
				"gpu_count": "1", "gpu_name": "NVIDIA H200", "gpu_memory_mib": "143771", "gpu_driver": "580.159.04",
				"gpu_power_limit_w": "700.00", "gpu_max_clock_mhz": "1980", "gpu_pcie_gen": "5", "gpu_pcie_width": "16",
				"gpu_mig": "Disabled", "gpu_ecc": "Enabled", "gpu_persistence": "Enabled",
				"gpu_topology": "ca54b2d9ea40", "gpu_links": probe.Unavailable,
			},
		},
		"mixed, without topology": {
			smi: smi{csv: file(t, "mixed.csv")},
			want: map[string]string{
				"gpu_count": "2", "gpu_name": "NVIDIA A10; Tesla T4", "gpu_memory_mib": "23028; 15360", "gpu_driver": "535.104.05",
				"gpu_power_limit_w": "150.00; 70.00", "gpu_max_clock_mhz": "1695; 1590", "gpu_pcie_gen": "4; 3", "gpu_pcie_width": "16",
				"gpu_mig": probe.Unavailable, "gpu_ecc": "Enabled", "gpu_persistence": "Disabled", "gpu_topology": probe.Unavailable,
				"gpu_links": probe.Unavailable,
			},
		},
	}
	nothing := map[string]string{}
	for fact := range tests["two of a kind"].want {
		nothing[fact] = probe.Unavailable
	}
	for name, s := range map[string]smi{
		"no program":    {},
		"no driver":     {csv: "FAIL NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"},
		"no GPU":        {csv: "\n"},
		"other columns": {csv: "a, b\n"},
		"garbage":       {csv: "\"\n"},
	} {
		tests[name] = struct {
			smi  smi
			want map[string]string
		}{s, nothing}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, gpuFacts(t, tt.smi)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTopologyHash(t *testing.T) {
	text := file(t, "h100x2.topo")
	plain := strings.NewReplacer("\x1b[4m", "", "\x1b[0m", "", "\t", "    ", "  X    = Self", "other legend").Replace(text)
	hash := func(topo string) string { return gpuFacts(t, smi{file(t, "h100x2.csv"), topo})["gpu_topology"] }
	if hash(text) != hash(plain) {
		t.Error("colours, widths and the legend change the hash")
	}
	if hash(text) == hash(strings.ReplaceAll(text, "NV18", "SYS")) {
		t.Error("another matrix has the same hash")
	}
}

// The real machine, whatever it is: every fact has a value of one short line.
func TestMachine(t *testing.T) {
	got := probe.Machine(t.Context(), nil)
	if len(got) < 20 {
		t.Errorf("%d facts", len(got))
	}
	for key, value := range got {
		if value == "" || len(value) > 200+len("…") || strings.ContainsAny(value, "\n\t") {
			t.Errorf("%s = %q", key, value)
		}
	}
}

func FuzzGPUs(f *testing.F) {
	f.Add("NVIDIA A10, 23028, 535.104.05, 150.00, 1695, 4, 16, [N/A], Enabled, Disabled\n", "")
	f.Add("\"a\n", "GPU0\n")
	f.Fuzz(func(t *testing.T, csv, topo string) {
		for key, value := range gpuFacts(t, smi{csv, topo}) {
			if value == "" || len(value) > 200+len("…") {
				t.Errorf("%s = %q", key, value)
			}
		}
	})
}
