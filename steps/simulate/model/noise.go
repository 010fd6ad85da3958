package model

import (
	"math"
	"math/rand/v2"
	"time"
)

// Noise says how a simulated server differs from its own model, from launch to launch
// and within one. All of it is drawn from the seed of the launch.
type Noise struct {
	// LaunchSD is the standard deviation of the logarithm of a factor on all step times
	// that holds for a whole launch.
	LaunchSD float64 `json:"launch_sd"`
	// StepSD is the same for each step on its own.
	StepSD float64 `json:"step_sd"`
	// Drift is the relative change of step times per hour of model time: 0.04 makes
	// the server 4 % slower after an hour.
	Drift float64 `json:"drift"`
	// OutlierRate is the share of steps that take OutlierFactor times as long (a pause
	// of the garbage collector, a neighbour on the host).
	OutlierRate   float64 `json:"outlier_rate"`
	OutlierFactor float64 `json:"outlier_factor"`
	// Slowdown multiplies all step times; 1.05 plants a regression of 5 %. 0 means 1.
	Slowdown float64 `json:"slowdown"`
	// SlowOp is the operation that takes the time which Slowdown adds, as a profile shows it; ""
	// for all of them in proportion.
	SlowOp string `json:"slow_op,omitempty"`
}

// DefaultNoise is a quiet machine: 0.7 % from launch to launch, 1 % from step to step.
func DefaultNoise() Noise { return Noise{LaunchSD: 0.007, StepSD: 0.01} }

// noiseSource draws the factors of one launch.
type noiseSource struct {
	noise  Noise
	launch float64
	rng    *rand.Rand
}

func newNoiseSource(n Noise, seed uint64) *noiseSource {
	rng := rand.New(rand.NewPCG(seed, 0x73696d756c617465))
	// The launch's draw is taken even when its deviation is 0, so that turning one knob
	// leaves the other draws as they were.
	launch := math.Exp(n.LaunchSD * rng.NormFloat64())
	if n.Slowdown > 0 {
		launch *= n.Slowdown
	}
	return &noiseSource{noise: n, launch: launch, rng: rng}
}

// factor of a step that starts at now.
func (s *noiseSource) factor(now time.Duration) float64 {
	f := s.launch * (1 + s.noise.Drift*now.Hours())
	if s.noise.StepSD > 0 {
		f *= math.Exp(s.noise.StepSD * s.rng.NormFloat64())
	}
	if s.noise.OutlierRate > 0 && s.rng.Float64() < s.noise.OutlierRate {
		f *= max(s.noise.OutlierFactor, 1)
	}
	return f
}
