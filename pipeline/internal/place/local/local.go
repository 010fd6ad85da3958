// Package local runs the processes of a plan on this machine.
package local

import (
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// Kind takes every process that no other place took.
func Kind() place.Kind {
	return place.Kind{
		Name: "local",
		Containers: []steps.ContainerSupport{{Place: "local", Every: "A process of this machine has no container: a server with an image " +
			"runs at another place."}},
		Cleaner: cleaner,
		Takes:   func(place.Options, place.Process) bool { return true },
		New: func(o place.Options) (place.Place, error) {
			return local{opt: o, launcher: process.New(o.Spawner, process.Options{Folder: o.Folder})}, nil
		},
	}
}

// local is this machine.
type local struct {
	place.Base
	opt      place.Options
	launcher steps.Launcher
}

// GPUs implements place.Place. A server with the machine for itself finds its GPUs.
func (l local) GPUs(t place.Target, p place.Process) place.GPUs {
	if t.Alone {
		return place.GPUs{}
	}
	return place.DeclaredGPUs(p.Spec, "")
}

// Assign implements place.Place.
func (l local) Assign(_ place.Target, p place.Process, gpus []string) (place.Slot, error) {
	spec := p.Spec
	if p.Role == place.RoleServer {
		spec = place.WithGPUs(spec, gpus)
	}
	if l.opt.Plan.Simulated == "" {
		spec = place.InFolder(spec, l.opt.Plan.Config.Folder)
	}
	return place.Slot{Spec: spec, Launcher: l.launcher, Self: place.Self{Program: l.opt.Self}}, nil
}
