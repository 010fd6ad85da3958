package steps

import (
	"math/big"
	"time"

	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// ProfileSpec says how a pair of launches is profiled after a gate has regressed.
type ProfileSpec struct {
	Profiler string // ProfilerTorch or ProfilerNsys
	// Delay is the time from the first measured request until the profiler starts, and Window how
	// long it is on.
	Delay, Window time.Duration
	// Timeout bounds how long a profiler may take to write what it has.
	Timeout time.Duration
	// MaxSize is the most that the traces of both sides may take in the run directory, in bytes.
	MaxSize int64
}

// What profiles.
const (
	// ProfilerTorch is torch's profiler, as the engine starts and stops it.
	ProfilerTorch = "torch"
	// ProfilerNsys is Nsight Systems, which needs nothing of the engine.
	ProfilerNsys = "nsys"
)

const (
	defaultProfileDelay   = 2 * time.Second
	defaultProfileWindow  = 3 * time.Second
	maxProfileWindow      = 10 * time.Minute
	defaultProfileTimeout = 10 * time.Minute
	defaultProfileSize    = 256 << 20
)

// profileWindow bounds what a profiler writes: ten minutes are six gigabytes a side.
var profileWindow = &Rule{must: "must be above zero, and ten minutes at most", number: func(f *big.Float) bool {
	return f.Sign() > 0 && f.Cmp(big.NewFloat(float64(maxProfileWindow))) <= 0
}}

// ProfileSchema describes the profile block.
func ProfileSchema() Schema {
	return Schema{Attrs: []Attr{
		{Name: "enabled", Type: cty.Bool, Default: cty.True, Doc: "Whether anything is profiled; a variable can switch it."},
		{Name: "profiler", Type: cty.String, Default: cty.StringVal(ProfilerTorch), Doc: "What profiles.", Enum: enum.Values{
			{Name: ProfilerTorch, Doc: "the engine's own, started and stopped while it serves"},
			{Name: ProfilerNsys, Doc: "NVIDIA Nsight Systems around the process, which needs no engine that can be profiled: kernels of the GPU " +
				"alone, and nsys where the server runs"},
		}},
		{Name: "delay", Type: cty.Number, Rule: NotNegative, Unit: UnitDuration, Default: durationVal(defaultProfileDelay),
			Doc: "Time from the first measured request until the profiler starts."},
		{Name: "window", Type: cty.Number, Rule: profileWindow, Unit: UnitDuration, Default: durationVal(defaultProfileWindow),
			Doc: "How long the profiler is on. Traces grow with it, by some ten megabytes a second."},
		{Name: "timeout", Type: cty.Number, Rule: AboveZero, Unit: UnitDuration, Default: durationVal(defaultProfileTimeout),
			Doc: "Longest time that the profiler may take to write its traces."},
		{Name: "max_size", Type: cty.Number, Rule: AboveZero, Unit: UnitBytes, Default: cty.NumberIntVal(defaultProfileSize),
			Doc: "Most that the traces of both sides may take in the run directory, packed. They are read in any case, and those beyond it are " +
				"not kept."},
	}}
}

// ReadProfile reads a profile block, nil for one that is not enabled, and finds what is wrong
// with it beyond types.
func ReadProfile(o Object) (*ProfileSpec, []Problem) {
	problems := ProfileSchema().Check(o)
	if o.Known("enabled") && o.Value("enabled").False() {
		return nil, problems
	}
	return &ProfileSpec{
		Profiler: o.Text("profiler"), Delay: o.Duration("delay"), Window: o.Duration("window"),
		Timeout: o.Duration("timeout"), MaxSize: int64(o.Float("max_size")),
	}, problems
}
