package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/engine"
)

// Powercap is the folder in which Linux shows the energy counters of processors (RAPL), Intel's and AMD's.
const Powercap = "/sys/class/powercap"

const (
	// raplEvery is the interval between readings of the counters during a run. A reading takes about ten
	// microseconds. Between readings, power is assumed constant.
	raplEvery = time.Second
	// maxRAPLGap is the longest time between two readings. A 32-bit counter in units of 61 µJ wraps after four
	// minutes at 1 kW; one in units of 15 µJ, after one.
	maxRAPLGap = 45 * time.Second
)

// raplDomain is an energy counter that no other one includes.
type raplDomain struct {
	name, dir string
	wraps     float64 // in microjoules; the counter then restarts at zero
}

// The zones of /sys/class/powercap to count: packages, and their memory. A package includes its cores and
// graphics, psys is the whole platform, and intel-rapl-mmio repeats the packages.
var (
	raplPackage = lazyregexp.New(`^intel-rapl:\d+$`)
	raplPart    = lazyregexp.New(`^intel-rapl:\d+:\d+$`)
)

// raplDomains lists the counters below a folder. It fails if some are unreadable.
func raplDomains(root string) ([]raplDomain, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []raplDomain
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		name, err := os.ReadFile(filepath.Join(dir, "name"))
		what := strings.TrimSpace(string(name))
		counts := raplPackage.MatchString(e.Name()) && strings.HasPrefix(what, "package-") || raplPart.MatchString(e.Name()) && what == "dram"
		if err != nil || !counts {
			continue
		}
		d := raplDomain{name: e.Name() + " (" + what + ")", dir: dir}
		if d.wraps, err = readMicrojoules(dir, "max_energy_range_uj"); err != nil {
			return nil, err
		}
		if _, err := d.read(); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func readMicrojoules(dir, file string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("%w: Linux lets root alone read it unless its mode is changed (chmod a+r)", err)
	}
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
	}
	return float64(v), nil
}

func (d raplDomain) read() (float64, error) { return readMicrojoules(d.dir, "energy_uj") }

// raplReading holds all counters at one moment.
type raplReading struct {
	at         time.Time
	microjoule []float64 // by domain
	err        error
}

func readRAPL(domains []raplDomain, at time.Time) raplReading {
	r := raplReading{at: at, microjoule: make([]float64, len(domains))}
	for i, d := range domains {
		if r.microjoule[i], r.err = d.read(); r.err != nil {
			return r
		}
	}
	return r
}

// raplEnergy returns the rise of the counters between two times, assumed uniform between readings. A counter
// that fell has wrapped.
func raplEnergy(domains []raplDomain, list []raplReading, began, ended time.Time) energy {
	unknown := func(format string, args ...any) energy { return energy{unknown: fmt.Sprintf(format, args...)} }
	joules := 0.0
	for i, now := range list {
		switch {
		case now.err != nil:
			return unknown("the energy of the processors could not be read: %v", now.err)
		case i == 0:
			continue
		}
		before := list[i-1]
		took := now.at.Sub(before.at)
		from, to := before.at, now.at
		if from.Before(began) {
			from = began
		}
		if to.After(ended) {
			to = ended
		}
		if took <= 0 || !to.After(from) {
			continue
		}
		if took > maxRAPLGap {
			return unknown("the energy of the processors was not read for %s, in which a counter can have begun again twice",
				took.Round(time.Second))
		}
		for k, d := range domains {
			rise := now.microjoule[k] - before.microjoule[k]
			if rise < 0 {
				rise += d.wraps
			}
			if rise < 0 {
				return unknown("%s fell from %.0f to %.0f µJ, and wraps at %.0f", d.name, before.microjoule[k], now.microjoule[k], d.wraps)
			}
			joules += rise / 1e6 * to.Sub(from).Seconds() / took.Seconds()
		}
	}
	if len(list) < 2 || list[0].at.After(began) || list[len(list)-1].at.Before(ended) {
		return unknown("the energy of the processors was not read over the whole run")
	}
	return energy{joules: joules}
}

// WatchProcessors returns a watcher of the energy counters of this machine's processors below a folder, such as
// Powercap. It returns nil if there are no counters.
func WatchProcessors(root string, now func() time.Time) engine.Watch {
	domains, err := raplDomains(root)
	switch {
	case err != nil:
		unread := energy{unknown: "the energy of the processors cannot be read: " + err.Error(), absent: true}
		return func(context.Context, []engine.Attended) engine.Watcher {
			return engine.Watcher{Count: func(t *counted.Tally) { unread.count(t, metric.CounterCPUJoules) }}
		}
	case len(domains) == 0:
		return nil
	}
	return func(ctx context.Context, _ []engine.Attended) engine.Watcher { return watchDomains(ctx, domains, now) }
}

// watchDomains reads energy counters until the run has ended.
func watchDomains(ctx context.Context, domains []raplDomain, now func() time.Time) engine.Watcher {
	list := []raplReading{readRAPL(domains, now())}
	stop := repeat(ctx, raplEvery, func(context.Context) { list = append(list, readRAPL(domains, now())) })
	var used energy
	return engine.Watcher{
		After: func(_ context.Context, lasted time.Duration) {
			stop()
			ended := now()
			list = append(list, readRAPL(domains, ended))
			used = raplEnergy(domains, list, ended.Add(-lasted), ended)
		},
		Count: func(t *counted.Tally) { used.count(t, metric.CounterCPUJoules) },
	}
}
