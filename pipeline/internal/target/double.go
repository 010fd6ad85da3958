package target

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// doubleSpec returns the spec of a server's simulated double in a slot. The engine's own program replaces an image or a
// path. Of the container block only the network remains, since the rest concerns the engine's image and the machine's
// GPUs. together means that other processes must reach it.
func doubleSpec(slot place.Slot, together bool) steps.ServerSpec {
	spec := plain(slot.Spec)
	spec.Caches = nil
	if slot.Self.Image == "" {
		return spec
	}
	own := &steps.ContainerSpec{Entrypoint: spec.Executable, Pull: steps.PullNever}
	if c := spec.Container; together || c != nil && c.Network == steps.NetworkHost {
		own.Network = steps.NetworkHost
	}
	spec.Executable, spec.GPUs = nil, 0
	spec.Image, spec.Container = slot.Self.Image, own
	return spec
}

// plain returns a spec with the engine's own program in place of an image or a path. A spec of an unknown engine is
// returned unchanged; the checks report that it cannot be simulated.
func plain(spec steps.ServerSpec) steps.ServerSpec {
	if spec.OwnProgram == nil {
		return spec
	}
	spec.Image, spec.Executable, spec.Dir = "", spec.OwnProgram, ""
	return spec
}

// ownContainer returns the spec of a container of this program, nil if it does not run in a container.
func ownContainer(self place.Self) *steps.ContainerSpec {
	if self.Image == "" {
		return nil
	}
	return &steps.ContainerSpec{Image: self.Image, Pull: steps.PullNever, Network: steps.NetworkHost}
}

// shortestInterval limits how far scaledReadiness shortens the interval between two polls.
const shortestInterval = 50 * time.Millisecond

// scaledReadiness polls more often if the model's clock runs faster. Start-up times are in the model's time, and the
// default interval would resolve them to many seconds only.
func scaledReadiness(r steps.Readiness, timeScale float64) steps.Readiness {
	r = r.WithDefaults()
	if timeScale > 1 {
		r.Interval = max(min(r.Interval, shortestInterval), time.Duration(float64(r.Interval)/timeScale))
	}
	return r
}

// double turns the process of an engine into its simulated double. It runs the same argv behind this program's simulate
// command, with the model's settings in the environment.
func (r Resolver) double(p steps.Process, spec steps.ServerSpec, self place.Self, launch string) (steps.Process, error) {
	settings, err := settingsOf(spec, r.Plan.Config.Folder, r.Plan.TimeScale, launch)
	if err != nil {
		return p, err
	}
	settings.Files = filesNamed(p)
	if r.Slowdown != 0 {
		settings.Slowdown = max(settings.Slowdown, 1) * (1 + r.Slowdown)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return p, fmt.Errorf("%s: settings of the simulator: %w", spec.Addr, err)
	}
	p.Argv = append([]string{self.Program, "simulate", "--"}, p.Argv...)
	p.Env = append(p.Env, steps.EnvVar{Name: simulate.SettingsEnv, Value: string(text)})
	return p, nil
}

// filesNamed returns the files that the command line of a process names, by their names; nil if there are none.
func filesNamed(p steps.Process) map[string]string {
	var out map[string]string
	for _, f := range p.Files {
		if !slices.Contains(p.Argv, f.Word()) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[f.Name] = string(f.Content)
	}
	return out
}

// settingsOf returns the simulator's settings for a server. dir is the folder of the file.
func settingsOf(spec steps.ServerSpec, dir string, timeScale float64, launch string) (simulate.Settings, error) {
	s := simulate.Settings{Engine: spec.Engine, Version: spec.EngineVersion(), TimeScale: timeScale, LaunchSeed: launchSeed(launch),
		Nodes: spec.Nodes}
	for name, value := range spec.Simulate {
		if value == nil {
			continue
		}
		if err := set(&s, name, value); err != nil {
			return s, fmt.Errorf("%s: simulate.%s: %w", spec.Addr, name, err)
		}
	}
	architecture, ok, err := model.ReadArchitecture(spec.ModelFolder(dir))
	if err != nil {
		return s, fmt.Errorf("%s: model: %w", spec.Addr, err)
	}
	if ok {
		s.Architecture = &architecture
	}
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	// Parse the settings as the simulator does, so that a wrong value is reported before the run starts.
	if _, err := simulate.ParseSettings(string(text)); err != nil {
		return s, err
	}
	if s.Profile != "" {
		if _, err := model.ProfileByName(s.Profile); err != nil {
			return s, err
		}
	}
	return s, nil
}

// set sets an argument of a simulate block. Other numbers set the field of that name in the model's size.
func set(s *simulate.Settings, name string, value any) error {
	number, isNumber := asFloat(value)
	text, isText := value.(string)
	list, isList := value.([]any)
	switch {
	case name == "profile" && isText:
		s.Profile = text
	case name == "version" && isText:
		s.Version = text
	case name == "slowdown" && isNumber:
		s.Slowdown = 1 + number
	case name == "slow_op" && isText:
		s.SlowOp = text
	case name == "corrupt" && isNumber:
		s.Corrupt = number
	case name == "divergence" && isNumber:
		s.Divergence = &number
	case name == "acceptance" && isNumber:
		s.Acceptance = &number
	case name == "launch_noise" && isNumber:
		s.NoiseSD = &number
	case name == "noise" && isNumber:
		s.StepSD = &number
	case name == "drift" && isNumber:
		s.Drift = number
	case name == "per_machine" && isNumber:
		s.PerMachine = number
	case name == "startup" && isNumber:
		seconds := number / 1e9
		s.StartupSeconds = &seconds
	case name == "seed" && isNumber:
		s.LaunchSeed = uint64(number)
	case name == "fail" && isList:
		for _, failure := range list {
			s.Fail = append(s.Fail, fmt.Sprint(failure))
		}
	case isNumber:
		size, err := json.Marshal(map[string]float64{name: number})
		if err != nil {
			return err
		}
		if s.Model == nil {
			s.Model = &model.ModelSize{}
		}
		return json.Unmarshal(size, s.Model)
	default:
		return fmt.Errorf("value %v of type %T does not fit", value, value)
	}
	return nil
}

func asFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// launchSeed returns a seed that differs between launches and stays the same when a run is repeated.
func launchSeed(launch string) uint64 {
	sum := sha256.Sum256([]byte("launch/1 " + launch))
	return binary.BigEndian.Uint64(sum[:8])
}
