package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/probe"
)

// calibration returns a function that finds the calibration of a variance block, for plans on this machine.
func (a *app) calibration(ctx context.Context, h *history.History, f planFlags) func(*config.Variance,
	[]string) (*plan.Calibration, string, error) {
	return func(spec *config.Variance, cells []string) (*plan.Calibration, string, error) {
		sought := sought{simulated: history.Simulated(f.simulate, f.timeScale), cells: cells}
		if f.simulate != plan.SimulateVirtual {
			sp := spawn.New(spawn.Options{Environ: a.Environ()})
			defer sp.Close()
			sought.machine = machine.Facts(ctx, sp)
		}
		if spec.Calibration != "" {
			return sought.inFile(spec.Calibration)
		}
		return sought.inHistory(h)
	}
}

// sought describes the required calibration.
type sought struct {
	simulated string
	machine   map[string]string // nil in virtual time, which has no machine
	cells     []string
}

// inFile returns the calibration in a file, whatever cells it covers.
func (s sought) inFile(path string) (*plan.Calibration, string, error) {
	r, err := history.Read(path)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("the calibration cannot be read: %w; `pipeline calibrate --save` writes one", err)
	case r.Kind != history.Calibration:
		return nil, "", fmt.Errorf("%s is a record of the kind %s, and no calibration; `pipeline calibrate --save` writes one", path, r.Kind)
	}
	if why := s.unlike(r); why != "" {
		why = fmt.Sprintf("the calibration %s is %s", r.ID, why)
		if s.simulated != "" {
			return nil, why + ": it is not used in this rehearsal", nil
		}
		return nil, "", errors.New(why + "; calibrate this machine, or remove the variance block")
	}
	return calibrationOf(r), "", nil
}

// inHistory returns the newest usable calibration that covers one of the cells. If there is none, it returns nil and
// a note.
func (s sought) inHistory(h *history.History) (*plan.Calibration, string, error) {
	if h == nil {
		h = new(history.History)
	}
	why := ""
	for _, r := range slices.Backward(h.Records) {
		if r.Kind != history.Calibration ||
			!slices.ContainsFunc(r.Noise, func(n history.Noise) bool { return slices.Contains(s.cells, n.Cell) }) {
			continue
		}
		unlike := s.unlike(r)
		if unlike == "" {
			return calibrationOf(r), "", nil
		}
		why = cmp.Or(why, fmt.Sprintf("the newest calibration of this, %s, is %s", r.ID, unlike))
	}
	return nil, uncalibrated(cmp.Or(why, "the history has none of what the gates compare")), nil
}

// uncalibrated returns the note of a plan without a calibration.
func uncalibrated(why string) string {
	return "no calibration is used, so that today's pairs alone say how much they spread: " + why + "; `pipeline calibrate` makes one"
}

// unlike returns the reason why a calibration cannot be used, "" if it can.
func (s sought) unlike(r history.Record) string {
	if r.Simulated != s.simulated {
		of := func(simulated string) string {
			if simulated == "" {
				return "real servers"
			}
			return "servers simulated as " + simulated
		}
		return "of " + of(r.Simulated) + ", and these are " + of(s.simulated)
	}
	if s.machine == nil {
		return ""
	}
	hard, _ := probe.Differences(r.Machine, s.machine)
	if len(hard) == 0 {
		return ""
	}
	var parts []string
	for _, fact := range hard {
		parts = append(parts, fmt.Sprintf("%s was %q and is %q here", fact, r.Machine[fact], s.machine[fact]))
	}
	return "of another machine (" + strings.Join(parts, ", ") + ")"
}

// calibrationOf converts a record to the form that plans use.
func calibrationOf(r history.Record) *plan.Calibration {
	versions := map[string]string{}
	for _, c := range r.Cells {
		versions[c.Hash] = c.Version
	}
	return &plan.Calibration{ID: r.ID, Time: r.Time, Machine: r.Machine, Resident: r.Resident, Versions: versions,
		Spread: func(cell, metric, model string, passes int) (sd, df float64, ok bool) {
			for _, n := range r.Noise {
				if n.Cell == cell && n.Metric == metric && n.Model == model && n.PairSDAt(passes) > 0 {
					// Ignore a reduction by more passes than were calibrated: it is known with fewer degrees of
					// freedom.
					return max(n.PairSD, n.PairSDAt(passes)), float64(n.Pairs), true
				}
			}
			return 0, 0, false
		}}
}
