package probe

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

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

func TestNICsAreOneFact(t *testing.T) {
	if got, want := nicFact(NICs(os.DirFS("testdata/nics"))), "1 x Ethernet 100 Gb/s; 1 x RDMA InfiniBand 400 Gb/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
