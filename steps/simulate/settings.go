package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// SettingsEnv is the environment variable with the Settings of a simulated server as JSON.
// Everything else comes from the real server's command line.
const SettingsEnv = "PIPELINE_SIMULATE"

// Settings configures one launch of a simulated server. The zero value is valid.
type Settings struct {
	// Engine is "vllm", "sglang", "llamacpp" or "trtllm"; empty means the engine of the command line.
	Engine string `json:"engine,omitempty"`
	// Version of the engine for flags, defaults and log lines; empty means the newest known.
	Version string `json:"version,omitempty"`
	// Profile names the hardware; empty means "fast".
	Profile string `json:"profile,omitempty"`
	// TimeScale runs the model's clock this many times faster than real time; 0 means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// LaunchSeed seeds the noise of this launch.
	LaunchSeed uint64 `json:"launch_seed,omitempty"`
	// NoiseSD replaces the deviation between launches, StepSD that of steps.
	NoiseSD *float64 `json:"noise_sd,omitempty"`
	StepSD  *float64 `json:"step_sd,omitempty"`
	// Slowdown multiplies step times: 1.05 injects a regression of 5 %. 0 means 1.
	Slowdown float64 `json:"slowdown,omitempty"`
	// SlowOp is the operation that takes the extra time of Slowdown; "" distributes it in
	// proportion.
	SlowOp string `json:"slow_op,omitempty"`
	// Drift is the relative change of step times per hour of model time.
	Drift float64 `json:"drift,omitempty"`
	// PerMachine is the relative increase of step times on each machine after the first, in virtual
	// time.
	PerMachine float64 `json:"per_machine,omitempty"`
	// Corrupt is the share of prompts that are answered wrongly. Divergence is the share of prompts
	// that a launch answers differently from others; nil means 0.005.
	Corrupt    float64  `json:"corrupt,omitempty"`
	Divergence *float64 `json:"divergence,omitempty"`
	// Acceptance is the probability that a drafted token is accepted if those before it are; nil
	// means 0.7.
	Acceptance    *float64 `json:"acceptance,omitempty"`
	OutlierRate   float64  `json:"outlier_rate,omitempty"`
	OutlierFactor float64  `json:"outlier_factor,omitempty"`
	// StartupSeconds of model time from start to ready; nil means 0.3.
	StartupSeconds *float64 `json:"startup_seconds,omitempty"`
	// Files that the command line names, by their names.
	Files map[string]string `json:"files,omitempty"`
	// Nodes of the server, if its command line does not define them.
	Nodes int `json:"nodes,omitempty"`
	// Model is the size of the model, Architecture its configuration; nil uses its folder or the
	// table of models.
	Model        *model.ModelSize    `json:"model,omitempty"`
	Architecture *model.Architecture `json:"architecture,omitempty"`
	// Fail lists the failures to inject, see Failures.
	Fail []string `json:"fail,omitempty"`
}

// ParseSettings parses Settings from JSON; "" gives the zero value. It returns an error for unknown
// fields and values out of range.
func ParseSettings(text string) (Settings, error) {
	var s Settings
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w; it must hold one JSON object of simulator settings", SettingsEnv, err)
	}
	if dec.More() {
		return s, fmt.Errorf("%s: there is text after the JSON object; remove it", SettingsEnv)
	}
	return s, s.check()
}

func (s Settings) check() error {
	values := map[string]float64{"time_scale": s.TimeScale, "slowdown": s.Slowdown, "outlier_rate": s.OutlierRate,
		"outlier_factor": s.OutlierFactor, "corrupt": s.Corrupt, "per_machine": s.PerMachine}
	for name, p := range map[string]*float64{"noise_sd": s.NoiseSD, "step_sd": s.StepSD, "divergence": s.Divergence,
		"acceptance": s.Acceptance, "startup_seconds": s.StartupSeconds} {
		if p != nil {
			values[name] = *p
		}
	}
	for name, v := range values {
		if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s: %s is %v; it must be a number from 0 on", SettingsEnv, name, v)
		}
	}
	for name, share := range map[string]float64{"corrupt": s.Corrupt, "divergence": s.divergence(), "acceptance": s.acceptance()} {
		if share > 1 {
			return fmt.Errorf("%s: %s is %v; it must be a share from 0 to 1", SettingsEnv, name, share)
		}
	}
	if names := model.OperationNames(); s.SlowOp != "" && !slices.Contains(names, s.SlowOp) {
		return fmt.Errorf("%s: slow_op is %q; it must be one of %s", SettingsEnv, s.SlowOp, strings.Join(names, ", "))
	}
	if s.Model != nil {
		if err := s.Model.Check(); err != nil {
			return fmt.Errorf("%s: model: %w", SettingsEnv, err)
		}
	}
	if s.Architecture != nil && !s.Architecture.Plausible() {
		return fmt.Errorf("%s: architecture: it must be a transformer's", SettingsEnv)
	}
	_, err := ParseFailures(s.Fail)
	return err
}

func (s Settings) timeScale() float64 {
	if s.TimeScale == 0 {
		return 1
	}
	return s.TimeScale
}

// Startup returns the model time from start to ready.
func (s Settings) Startup() time.Duration {
	if s.StartupSeconds == nil {
		return 300 * time.Millisecond
	}
	return time.Duration(*s.StartupSeconds * float64(time.Second))
}

// Default divergence between launches of one server.
const (
	usualDivergence = 0.005
	usualJitter     = 0.002 // nats
)

// usualAcceptance is the default acceptance of drafts.
const usualAcceptance = 0.7

func (s Settings) acceptance() float64 {
	if s.Acceptance == nil {
		return usualAcceptance
	}
	return *s.Acceptance
}

func (s Settings) divergence() float64 {
	if s.Divergence == nil {
		return usualDivergence
	}
	return *s.Divergence
}

// voice returns the voice of a model in this launch. Without divergence, launches answer exactly
// alike.
func (s Settings) voice(name string) model.Voice {
	v := model.VoiceOf(name)
	v.Launch, v.Diverge, v.Corrupt = s.LaunchSeed, s.divergence(), s.Corrupt
	if v.Diverge > 0 {
		v.Jitter = usualJitter
	}
	return v
}

func (s Settings) noise() model.Noise {
	n := model.DefaultNoise()
	if s.NoiseSD != nil {
		n.LaunchSD = *s.NoiseSD
	}
	if s.StepSD != nil {
		n.StepSD = *s.StepSD
	}
	n.SlowOp = s.SlowOp
	n.Slowdown, n.Drift, n.OutlierRate, n.OutlierFactor = s.Slowdown, s.Drift, s.OutlierRate, s.OutlierFactor
	return n
}

// on returns the settings of a launch on the machine with a number.
func (s Settings) on(machine int) Settings {
	if s.PerMachine == 0 || machine == 0 {
		return s
	}
	if s.Slowdown == 0 {
		s.Slowdown = 1
	}
	s.Slowdown *= 1 + s.PerMachine*float64(machine)
	return s
}

// Failures can be injected into a simulated server.
type Failures struct {
	// OutOfMemory: "oom", the weights do not fit; the process ends while starting.
	OutOfMemory bool
	// ExitAtStart: "exit_at_start", an immediate import error.
	ExitAtStart bool
	// NCCLTimeout: "nccl_timeout", the collective that joins the ranks times out at the start.
	NCCLTimeout bool
	// KVTooSmall: "kv_too_small", the cache cannot hold one request. It also follows from flags.
	KVTooSmall bool
	// PortInUse: "port_in_use", another process listens. It also follows from an occupied port.
	PortInUse bool
	// NeverReady: "never_ready", /health always answers 503.
	NeverReady bool
	// SlowStart: "slow_start=30s", added to the start in model time.
	SlowStart time.Duration
	// CrashAfter: "crash_after=N", the engine dies on the Nth request for tokens, exit status 1.
	CrashAfter int
	// Garbage: "garbage", requests for tokens get an HTML page with status 200.
	Garbage bool
	// Drop: "drop=0.02", this share of requests ends with an error object or a cut stream.
	Drop float64
	// IgnoreSigterm: "ignore_sigterm", only SIGKILL ends the process.
	IgnoreSigterm bool
	// TransportFallback: "transport_fallback", KV uses TCP, whatever the configuration.
	TransportFallback bool
	// Recompute: "recompute", a decode server recomputes every prompt and receives no KV.
	Recompute bool
	// HandshakeFail: "handshake_fail", peers reject this server's KV layout.
	HandshakeFail bool
	// PeerDies: "peer_dies=N", the engine dies in the middle of the Nth transfer, exit status 1.
	PeerDies int
	// NodeDies: "node_dies=N", the last node of a multi-node server dies on the Nth request.
	NodeDies int
	// NoWake: "no_wake", a sleeping server cannot get its memory back.
	NoWake bool
}

// planted is a failure by its name in a list. The type of sets defines its values.
type planted struct {
	name, example string
	sets          any // *bool, *int from 1 on, *time.Duration, or *float64 for a share
	// process is set if the failure needs a process and its connections.
	process bool
}

// table lists the failures.
func (f *Failures) table() []planted {
	return []planted{
		{name: "oom", sets: &f.OutOfMemory}, {name: "exit_at_start", sets: &f.ExitAtStart}, {name: "nccl_timeout", sets: &f.NCCLTimeout},
		{name: "kv_too_small", sets: &f.KVTooSmall}, {name: "port_in_use", sets: &f.PortInUse},
		{name: "never_ready", sets: &f.NeverReady, process: true},
		{name: "garbage", sets: &f.Garbage, process: true}, {name: "ignore_sigterm", sets: &f.IgnoreSigterm},
		{name: "slow_start", example: "=30s", sets: &f.SlowStart},
		{name: "crash_after", example: "=100", sets: &f.CrashAfter, process: true}, {name: "drop", example: "=0.02",
			sets: &f.Drop, process: true},
		{name: "transport_fallback", sets: &f.TransportFallback}, {name: "recompute", sets: &f.Recompute},
		{name: "handshake_fail", sets: &f.HandshakeFail, process: true}, {name: "peer_dies", example: "=10", sets: &f.PeerDies, process: true},
		{name: "node_dies", example: "=10", sets: &f.NodeDies, process: true}, {name: "no_wake", sets: &f.NoWake},
	}
}

// ParseFailures parses a list of failures by name, with a value if required.
func ParseFailures(list []string) (Failures, error) {
	var f Failures
	table := f.table()
	for _, item := range list {
		name, value, hasValue := strings.Cut(item, "=")
		i := slices.IndexFunc(table, func(p planted) bool { return p.name == name })
		if i < 0 || hasValue && table[i].example == "" {
			words := make([]string, len(table))
			for k, p := range table {
				words[k] = p.name + p.example
			}
			return f, fmt.Errorf("failure %q to inject: not known; choose from %s", item, strings.Join(words, ", "))
		}
		if err := table[i].set(value); err != nil {
			return f, fmt.Errorf("failure %q to inject: %w", item, err)
		}
	}
	return f, nil
}

func (p planted) set(value string) (err error) {
	switch to := p.sets.(type) {
	case *bool:
		*to = true
	case *int:
		if *to, err = strconv.Atoi(value); err != nil || *to < 1 {
			return fmt.Errorf("the value must be a number from 1 on")
		}
	case *time.Duration:
		if *to, err = time.ParseDuration(value); err != nil || *to < 0 {
			return fmt.Errorf("the value must be a duration such as 30s")
		}
	case *float64:
		if *to, err = strconv.ParseFloat(value, 64); err != nil || !(*to >= 0 && *to <= 1) {
			return fmt.Errorf("the value must be a share from 0 to 1")
		}
	}
	return nil
}

// virtual returns an error for failures that a virtual server cannot have: idle time, broken
// connections, a process that dies.
func (f Failures) virtual() error {
	for _, p := range f.table() {
		if p.process && !reflect.ValueOf(p.sets).Elem().IsZero() {
			return fmt.Errorf("the failure %q needs a process and its connections, which virtual time does not have; use --simulate", p.name)
		}
	}
	return nil
}
