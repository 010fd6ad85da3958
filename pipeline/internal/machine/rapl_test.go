package machine

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
)

// The zones of a machine with two Xeons: powercap_xeon has package, core and dram of both, the platform, and the
// packages again by another interface. Only packages and their memory count.
func TestRAPLDomains(t *testing.T) {
	domains, err := raplDomains("testdata/powercap_xeon")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range domains {
		names = append(names, d.name)
	}
	if got, want := strings.Join(names, ", "),
		"intel-rapl:0 (package-0), intel-rapl:0:1 (dram), intel-rapl:1 (package-1), intel-rapl:1:1 (dram)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if none, err := raplDomains(filepath.Join(t.TempDir(), "powercap")); none != nil || err != nil {
		t.Errorf("without the folder: %v, %v", none, err)
	}
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS("testdata/powercap_xeon")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "intel-rapl:1", "energy_uj"), []byte("none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := raplDomains(broken); err == nil || !strings.Contains(err.Error(), "energy_uj") {
		t.Errorf("a counter that is no number: %v", err)
	}
}

func TestRAPLEnergy(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * 1e9)) }
	domains := []raplDomain{{"package-0", "", 262_143_328_850}, {"dram", "", 65_712_999_613}}
	read := func(s float64, uj ...float64) raplReading { return raplReading{at: at(s), microjoule: uj} }
	for name, tt := range map[string]struct {
		list    []raplReading
		want    float64
		unknown string
	}{
		"steady":        {[]raplReading{read(0, 0, 0), read(10, 1000e6, 100e6), read(20, 2000e6, 200e6)}, 1100, ""},
		"within":        {[]raplReading{read(0, 0, 0), read(40, 4000e6, 0)}, 1000, ""},
		"wraps":         {[]raplReading{read(5, 262_143_000_000, 0), read(15, 999_671_150, 0)}, 1000, ""},
		"too long":      {[]raplReading{read(0, 0, 0), read(90, 1e6, 0)}, 0, "not read for 1m30s"},
		"reset":         {[]raplReading{read(5, 400_000_000_000, 0), read(15, 1e6, 0)}, 0, "fell from"},
		"begins late":   {[]raplReading{read(6, 0, 0), read(15, 1e6, 0)}, 0, "over the whole run"},
		"cannot be":     {[]raplReading{read(5, 0, 0), {at: at(15), err: os.ErrPermission}}, 0, "permission denied"},
		"read one time": {[]raplReading{read(5, 0, 0)}, 0, "over the whole run"},
	} {
		got := raplEnergy(domains, tt.list, at(5), at(15))
		if math.Abs(got.joules-tt.want) > 1e-6 || !strings.Contains(got.unknown, tt.unknown) || (got.unknown == "") != (tt.unknown == "") {
			t.Errorf("%s: %+v, want %g J, %q", name, got, tt.want, tt.unknown)
		}
	}
}

// TestWatchProcessors reads a folder like that of Linux, whose counters rise by 500 J while a run lasts.
func TestWatchProcessors(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/powercap_xeon")); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	w := WatchProcessors(root, func() time.Time { return now })(t.Context(), nil)
	for _, zone := range []string{"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:2"} {
		path := filepath.Join(root, zone, "energy_uj")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		old, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strconv.FormatInt(old+250e6, 10)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(10 * time.Second)
	w.After(t.Context(), 10*time.Second)
	tally, values := counted.New(now, now), map[string]float64{}
	tally.Client(1, 1, 10)
	w.Count(tally)
	tally.Count(metric.All(), nil, values)
	if joules := values["energy.cpu_per_output_token"]; math.Abs(joules-500) > 1e-6 {
		t.Errorf("%g, want 500 J: a package and its memory", joules)
	}
	if WatchProcessors(filepath.Join(root, "none"), time.Now) != nil {
		t.Error("something is watched where there is no counter")
	}
}
