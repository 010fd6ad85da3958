package model

import (
	"math"
	"math/rand/v2"
	"time"
)

// Noise describes how a simulated server deviates from its model, between launches and within one.
// All values are drawn from the seed of the launch.
type Noise struct {
	// LaunchSD is the standard deviation of the logarithm of a factor on all step times of a
	// launch.
	LaunchSD float64 `json:"launch_sd"`
	// StepSD is the standard deviation of the logarithm of a factor on each step's time.
	StepSD float64 `json:"step_sd"`
	// Drift is the relative change of step times per hour of model time: 0.04 makes the server 4 %
	// slower after an hour.
	Drift float64 `json:"drift"`
	// OutlierRate is the share of steps that take OutlierFactor times as long (a pause of the
	// garbage collector, other load on the host).
	OutlierRate   float64 `json:"outlier_rate"`
	OutlierFactor float64 `json:"outlier_factor"`
	// Slowdown multiplies all step times; 1.05 plants a regression of 5 %. 0 means 1.
	Slowdown float64 `json:"slowdown"`
	// SlowOp is the operation that takes the additional time of Slowdown, as a profile shows it; ""
	// distributes it over all in proportion.
	SlowOp string `json:"slow_op,omitempty"`
}

// DefaultNoise returns the noise of a quiet machine: 0.7 % between launches, 1 % between steps.
func DefaultNoise() Noise { return Noise{LaunchSD: 0.007, StepSD: 0.01} }

// noiseSource draws the factors of one launch.
type noiseSource struct {
	noise  Noise
	launch float64
	rng    *rand.Rand
}

func newNoiseSource(n Noise, seed uint64) *noiseSource {
	rng := rand.New(rand.NewPCG(seed, 0x73696d756c617465))
	// Draw the launch's factor even if its deviation is 0, so that a change of one setting does not
	// change the other draws.
	launch := math.Exp(n.LaunchSD * rng.NormFloat64())
	if n.Slowdown > 0 {
		launch *= n.Slowdown
	}
	return &noiseSource{noise: n, launch: launch, rng: rng}
}

// factor returns the factor on the time of a step that starts at now.
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
