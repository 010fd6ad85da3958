package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// SettingsEnv is the environment variable that holds the Settings of a simulated server
// as JSON. Everything else comes from the real server's own command line.
const SettingsEnv = "PIPELINE_SIMULATE"

// Settings of one launch of a simulated server. The zero value is valid.
type Settings struct {
	// Engine is "vllm" or "sglang"; empty means that the command line says it.
	Engine string `json:"engine,omitempty"`
	// Version of the engine whose flags, defaults and log lines are used; empty means the newest known.
	Version string `json:"version,omitempty"`
	// Profile names the hardware; empty means "fast".
	Profile string `json:"profile,omitempty"`
	// TimeScale runs the model's clock this many times faster than the wall; 0 means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// LaunchSeed draws the noise of this launch.
	LaunchSeed uint64 `json:"launch_seed,omitempty"`
	// NoiseSD replaces the launch-to-launch deviation, StepSD the deviation of steps.
	NoiseSD *float64 `json:"noise_sd,omitempty"`
	StepSD  *float64 `json:"step_sd,omitempty"`
	// Slowdown multiplies step times: 1.05 plants a regression of 5 %. 0 means 1.
	Slowdown float64 `json:"slowdown,omitempty"`
	// Drift is the relative change of step times per hour of model time.
	Drift         float64 `json:"drift,omitempty"`
	OutlierRate   float64 `json:"outlier_rate,omitempty"`
	OutlierFactor float64 `json:"outlier_factor,omitempty"`
	// StartupSeconds of model time from start to ready; nil means 0.3.
	StartupSeconds *float64 `json:"startup_seconds,omitempty"`
	// Nodes that the server is spread over, where its command line does not say so.
	Nodes int `json:"nodes,omitempty"`
	// Model says what the model's size is, Architecture what its configuration says of it; nil
	// for what its folder or the table of models says.
	Model        *model.ModelSize    `json:"model,omitempty"`
	Architecture *model.Architecture `json:"architecture,omitempty"`
	// Fail lists the failures to inject, see Failures.
	Fail []string `json:"fail,omitempty"`
}

// ParseSettings reads Settings from JSON; "" gives the zero value. Unknown fields and
// values out of range are errors.
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
	values := map[string]float64{"time_scale": s.TimeScale, "slowdown": s.Slowdown, "outlier_rate": s.OutlierRate, "outlier_factor": s.OutlierFactor}
	for name, p := range map[string]*float64{"noise_sd": s.NoiseSD, "step_sd": s.StepSD, "startup_seconds": s.StartupSeconds} {
		if p != nil {
			values[name] = *p
		}
	}
	for name, v := range values {
		if v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s: %s is %v; it must be a number from 0 on", SettingsEnv, name, v)
		}
	}
	if s.Model != nil {
		if err := s.Model.Check(); err != nil {
			return fmt.Errorf("%s: model: %w", SettingsEnv, err)
		}
	}
	if s.Architecture != nil && !s.Architecture.Plausible() {
		return fmt.Errorf("%s: architecture: it is not that of a transformer", SettingsEnv)
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

func (s Settings) startup() time.Duration {
	if s.StartupSeconds == nil {
		return 300 * time.Millisecond
	}
	return time.Duration(*s.StartupSeconds * float64(time.Second))
}

func (s Settings) noise() model.Noise {
	n := model.DefaultNoise()
	if s.NoiseSD != nil {
		n.LaunchSD = *s.NoiseSD
	}
	if s.StepSD != nil {
		n.StepSD = *s.StepSD
	}
	n.Slowdown, n.Drift, n.OutlierRate, n.OutlierFactor = s.Slowdown, s.Drift, s.OutlierRate, s.OutlierFactor
	return n
}

// Failures that can be planted in a simulated server.
type Failures struct {
	// OutOfMemory: "oom", the weights do not fit; the process ends while it starts.
	OutOfMemory bool
	// ExitAtStart: "exit_at_start", an import error at once.
	ExitAtStart bool
	// NCCLTimeout: "nccl_timeout", the collective that joins the ranks times out at the start.
	NCCLTimeout bool
	// KVTooSmall: "kv_too_small", the cache cannot hold one request. It also follows from flags.
	KVTooSmall bool
	// PortInUse: "port_in_use", another process listens. It also follows from a port that is taken.
	PortInUse bool
	// NeverReady: "never_ready", /health answers 503 for ever.
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
	// TransportFallback: "transport_fallback", KV goes over TCP, whatever the configuration claims.
	TransportFallback bool
	// Recompute: "recompute", a decode server computes every prompt again and takes no KV.
	Recompute bool
	// HandshakeFail: "handshake_fail", peers do not agree with this server's layout of KV.
	HandshakeFail bool
	// PeerDies: "peer_dies=N", the engine dies in the middle of the Nth transfer, exit status 1.
	PeerDies int
	// NodeDies: "node_dies=N", the last node of a server on several dies on the Nth request.
	NodeDies int
}

// ParseFailures reads a list of failures by name, with a value where one is due.
func ParseFailures(list []string) (Failures, error) {
	var f Failures
	flags := map[string]*bool{
		"oom": &f.OutOfMemory, "exit_at_start": &f.ExitAtStart, "nccl_timeout": &f.NCCLTimeout, "kv_too_small": &f.KVTooSmall,
		"port_in_use": &f.PortInUse, "never_ready": &f.NeverReady, "garbage": &f.Garbage, "ignore_sigterm": &f.IgnoreSigterm,
		"transport_fallback": &f.TransportFallback, "recompute": &f.Recompute, "handshake_fail": &f.HandshakeFail,
	}
	for _, item := range list {
		name, value, hasValue := strings.Cut(item, "=")
		if flag, ok := flags[name]; ok && !hasValue {
			*flag = true
			continue
		}
		if err := f.set(name, value); err != nil {
			return f, fmt.Errorf("failure %q to inject: %w", item, err)
		}
	}
	return f, nil
}

func (f *Failures) set(name, value string) (err error) {
	switch name {
	case "slow_start":
		if f.SlowStart, err = time.ParseDuration(value); err != nil || f.SlowStart < 0 {
			return fmt.Errorf("the value must be a duration such as 30s")
		}
	case "crash_after":
		if f.CrashAfter, err = strconv.Atoi(value); err != nil || f.CrashAfter < 1 {
			return fmt.Errorf("the value must be a number of requests from 1 on")
		}
	case "peer_dies":
		if f.PeerDies, err = strconv.Atoi(value); err != nil || f.PeerDies < 1 {
			return fmt.Errorf("the value must be a number of transfers from 1 on")
		}
	case "node_dies":
		if f.NodeDies, err = strconv.Atoi(value); err != nil || f.NodeDies < 1 {
			return fmt.Errorf("the value must be a number of requests from 1 on")
		}
	case "drop":
		if f.Drop, err = strconv.ParseFloat(value, 64); err != nil || !(f.Drop >= 0 && f.Drop <= 1) {
			return fmt.Errorf("the value must be a share from 0 to 1")
		}
	default:
		return fmt.Errorf("not known; choose from oom, exit_at_start, nccl_timeout, kv_too_small, port_in_use, never_ready, garbage, ignore_sigterm, slow_start=30s, crash_after=100, drop=0.02, transport_fallback, recompute, handshake_fail, peer_dies=10, node_dies=10")
	}
	return nil
}
