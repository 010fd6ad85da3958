package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate"
)

// simulated turns the process of a real engine into one of its simulated double: the
// same argv behind this program's own simulate command, the model's settings in the
// environment.
func simulated(p steps.Process, spec steps.ServerSpec, self string, timeScale float64, launch string) (steps.Process, error) {
	settings, err := settingsOf(spec, timeScale, launch)
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return p, fmt.Errorf("%s: settings of the simulator: %w", spec.Addr, err)
	}
	p.Argv = append([]string{self, "simulate", "--"}, p.Argv...)
	p.Env = append(p.Env, steps.EnvVar{Name: simulate.SettingsEnv, Value: string(text)})
	return p, nil
}

func settingsOf(spec steps.ServerSpec, timeScale float64, launch string) (simulate.Settings, error) {
	s := simulate.Settings{Engine: spec.Engine, Version: spec.EngineVersion(), TimeScale: timeScale, LaunchSeed: launchSeed(launch), Nodes: spec.Nodes}
	for name, value := range spec.Simulate {
		if value == nil {
			continue
		}
		if err := set(&s, name, value); err != nil {
			return s, fmt.Errorf("%s: simulate.%s: %w", spec.Addr, name, err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	// The simulator's own check, so that a wrong value ends the run before it starts.
	if _, err := simulate.ParseSettings(string(text)); err != nil {
		return s, err
	}
	if s.Profile != "" {
		if _, err := simulate.ProfileByName(s.Profile); err != nil {
			return s, err
		}
	}
	return s, nil
}

func set(s *simulate.Settings, name string, value any) error {
	number, isNumber := asFloat(value)
	text, isText := value.(string)
	switch {
	case name == "profile" && isText:
		s.Profile = text
	case name == "version" && isText:
		s.Version = text
	case name == "slowdown" && isNumber:
		s.Slowdown = 1 + number
	case name == "launch_noise" && isNumber:
		s.NoiseSD = &number
	case name == "noise" && isNumber:
		s.StepSD = &number
	case name == "drift" && isNumber:
		s.Drift = number
	case name == "startup" && isNumber:
		seconds := number / 1e9
		s.StartupSeconds = &seconds
	case name == "seed" && isNumber:
		s.LaunchSeed = uint64(number)
	case name == "fail":
		return setFailures(s, value)
	default:
		return fmt.Errorf("value %v of type %T does not fit", value, value)
	}
	return nil
}

func setFailures(s *simulate.Settings, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("must be a list of failures, not %T", value)
	}
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return fmt.Errorf("must be a list of strings, not of %T", item)
		}
		s.Fail = append(s.Fail, text)
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

// launchSeed gives every launch its own noise, the same one when a run is repeated.
func launchSeed(launch string) uint64 {
	sum := sha256.Sum256([]byte("launch/1 " + launch))
	return binary.BigEndian.Uint64(sum[:8])
}
