// Package local runs what a plan launches as processes of this machine.
package local

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// Kind takes whatever no other place has taken.
func Kind() place.Kind {
	return place.Kind{
		Name:  "local",
		Takes: func(place.Options, place.Process) bool { return true },
		New: func(o place.Options) (place.Place, error) {
			return local{opt: o, launcher: process.New(o.Spawner, process.Options{Folder: o.Folder})}, nil
		},
	}
}

// local is this machine, or a lane of it.
type local struct {
	place.Base
	opt      place.Options
	launcher steps.Launcher
	reserved *place.Reserved // nil for all of the machine
}

// Check implements place.Place.
func (l local) Check(t place.Target) []place.Problem { return place.CheckLanes(l.opt.Plan, t) }

// GPUs implements place.Place. A server that has the machine for itself finds them.
func (l local) GPUs(t place.Target, p place.Process) place.GPUs {
	if t.Alone && l.reserved == nil {
		return place.GPUs{}
	}
	return l.reserved.GPUs(place.DeclaredGPUs(p.Spec, ""))
}

// Assign implements place.Place.
func (l local) Assign(_ place.Target, p place.Process, gpus []string) (place.Slot, error) {
	spec := p.Spec
	if p.Role == place.RoleServer {
		spec = l.reserved.Bind(spec, gpus)
	}
	if l.opt.Plan.Simulated == "" {
		spec = place.InFolder(spec, l.opt.Dir)
	}
	return place.Slot{Spec: spec, Launcher: l.launcher, Self: place.Self{Program: l.opt.Self}}, nil
}

// Preflight implements place.Place.
func (l local) Preflight(context.Context) error { return place.CheckCores(l.opt.Plan, l.opt.Warn) }

// Needs implements place.Place.
func (l local) Needs(n doctor.Needs) doctor.Needs { return place.LaneNeeds(l.opt.Plan, n) }

// Lane implements place.Place: a part of the cores and GPUs.
func (l local) Lane(lane int) *place.Lane {
	part := l
	if part.reserved = place.ReservedBy(l.opt.Plan, lane); part.reserved == nil {
		return nil
	}
	part.launcher = part.reserved.Pin(l.launcher)
	return &place.Lane{Place: part, Nodes: place.LaneName(lane), GPUs: part.reserved.LaneSpec.GPUs}
}
