package probe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHost(t *testing.T) {
	got := host(os.DirFS("testdata/machine"), "node7")
	want := facts{
		"os": "Ubuntu 24.04.1 LTS", "kernel": "6.8.0-45-generic", "arch": runtime.GOARCH, "host": hash("node7"),
		"cpu_model": "Intel(R) Xeon(R) Platinum 8480+", "cpus": strconv.Itoa(runtime.NumCPU()), "cpu_sockets": "2",
		"cpu_governor": Unavailable, "cpu_limit": "max 100000", "smt": Unavailable,
		"memory_gib": "1007.3", "numa_nodes": "2", "nics": Unavailable,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got["host"], "node7") || len(got["host"]) != 12 {
		t.Errorf("the host's name shows: %s", got["host"])
	}
}

func TestHostUnknown(t *testing.T) {
	for key, value := range host(fstest.MapFS{}, "") {
		switch key {
		case "arch", "cpus", "os":
			if value == Unavailable {
				t.Errorf("%s is always known", key)
			}
		default:
			if value != Unavailable {
				t.Errorf("%s = %s on a machine without /proc", key, value)
			}
		}
	}
}

func TestParseARM(t *testing.T) {
	text := "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
	if got := parseCPUInfo(text).model; got != "implementer 0x41 part 0xd4f" {
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

func TestGPUs(t *testing.T) {
	tests := map[string]struct {
		smi  smi
		want facts
	}{
		"two of a kind": {
			smi: smi{file(t, "h100x2.csv"), file(t, "h100x2.topo")},
			want: facts{
				"gpu_count": "2", "gpu_name": "NVIDIA H100 80GB HBM3", "gpu_memory_mib": "81559", "gpu_driver": "550.54.15",
				"gpu_power_limit_w": "700.00", "gpu_max_clock_mhz": "1980", "gpu_pcie_gen": "5", "gpu_pcie_width": "16",
				"gpu_mig": "Disabled", "gpu_ecc": "Enabled", "gpu_persistence": "Enabled",
				"gpu_topology": topologyHash([]byte(file(t, "h100x2.topo"))), "gpu_links": "NV18",
			},
		},
		"one, as a machine answered": {
			smi: smi{file(t, "h200.csv"), file(t, "h200.topo")},
			want: facts{
				"gpu_count": "1", "gpu_name": "NVIDIA H200", "gpu_memory_mib": "143771", "gpu_driver": "580.159.04",
				"gpu_power_limit_w": "700.00", "gpu_max_clock_mhz": "1980", "gpu_pcie_gen": "5", "gpu_pcie_width": "16",
				"gpu_mig": "Disabled", "gpu_ecc": "Enabled", "gpu_persistence": "Enabled",
				"gpu_topology": "ca54b2d9ea40", "gpu_links": Unavailable,
			},
		},
		"mixed, without topology": {
			smi: smi{csv: file(t, "mixed.csv")},
			want: facts{
				"gpu_count": "2", "gpu_name": "NVIDIA A10; Tesla T4", "gpu_memory_mib": "23028; 15360", "gpu_driver": "535.104.05",
				"gpu_power_limit_w": "150.00; 70.00", "gpu_max_clock_mhz": "1695; 1590", "gpu_pcie_gen": "4; 3", "gpu_pcie_width": "16",
				"gpu_mig": Unavailable, "gpu_ecc": "Enabled", "gpu_persistence": "Disabled", "gpu_topology": Unavailable, "gpu_links": Unavailable,
			},
		},
	}
	nothing := facts{"gpu_count": Unavailable, "gpu_topology": Unavailable, "gpu_links": Unavailable}
	for _, q := range query {
		nothing[q.fact] = Unavailable
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
			want facts
		}{s, nothing}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := facts{}
			gpus(context.Background(), tt.smi, got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTopologyHash(t *testing.T) {
	text := file(t, "h100x2.topo")
	plain := strings.NewReplacer("\x1b[4m", "", "\x1b[0m", "", "\t", "    ", "  X    = Self", "other legend").Replace(text)
	if topologyHash([]byte(text)) != topologyHash([]byte(plain)) {
		t.Error("colours, widths and the legend change the hash")
	}
	if topologyHash([]byte(text)) == topologyHash([]byte(strings.ReplaceAll(text, "NV18", "SYS"))) {
		t.Error("another matrix has the same hash")
	}
}

func TestRunIsBounded(t *testing.T) {
	out, err := run(context.Background(), smi{csv: strings.Repeat("x", 1<<20+10)}, "nvidia-smi", "-q")
	if err != nil || len(out) != 1<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if _, err := run(context.Background(), nil, "nvidia-smi"); err == nil {
		t.Error("without a spawner nothing runs")
	}
}

// The real machine, whatever it is: every fact has a value of one short line.
func TestMachine(t *testing.T) {
	got := Machine(context.Background(), nil)
	if len(got) < 20 {
		t.Errorf("%d facts", len(got))
	}
	for key, value := range got {
		if value == "" || len(value) > maxFact+len("…") || strings.ContainsAny(value, "\n\t") {
			t.Errorf("%s = %q", key, value)
		}
	}
}

func FuzzParseGPUs(f *testing.F) {
	f.Add([]byte("NVIDIA A10, 23028, 535.104.05, 150.00, 1695, 4, 16, [N/A], Enabled, Disabled\n"))
	f.Add([]byte("\"a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := facts{}
		if parseGPUs(data, got) != nil {
			return
		}
		for key, value := range got {
			if value == "" || len(value) > maxFact+len("…") {
				t.Errorf("%s = %q", key, value)
			}
		}
	})
}
