package lang

import (
	"math/big"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

const (
	defaultProfileDelay   = 2 * time.Second
	defaultProfileWindow  = 3 * time.Second
	maxProfileWindow      = 10 * time.Minute
	defaultProfileTimeout = 10 * time.Minute
	defaultProfileSize    = 256 << 20
)

// profileWindow limits the size of a profile: ten minutes are six gigabytes a side.
var profileWindow = steps.Number("must be above zero, and ten minutes at most", func(f *big.Float) bool {
	return f.Sign() > 0 && f.Cmp(big.NewFloat(float64(maxProfileWindow))) <= 0
})

// profileSchema describes the profile block.
func profileSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "enabled", Type: cty.Bool, Default: cty.True, Doc: "Whether anything is profiled; a variable can switch it."},
		{Name: "profiler", Type: cty.String, Default: cty.StringVal(config.ProfilerTorch), Doc: "What profiles.", Enum: enum.Values{
			{Name: config.ProfilerTorch, Doc: "the engine's own, started and stopped while it serves"},
			{Name: config.ProfilerNsys, Doc: "NVIDIA Nsight Systems around the process, which needs no engine that can be profiled: kernels of " +
				"the GPU alone, and nsys where the server runs"},
		}},
		{Name: "delay", Type: cty.Number, Rule: steps.NotNegative, Unit: steps.UnitDuration,
			Default: cty.NumberIntVal(defaultProfileDelay.Nanoseconds()),
			Doc:     "Time from the first measured request until the profiler starts."},
		{Name: "window", Type: cty.Number, Rule: profileWindow, Unit: steps.UnitDuration,
			Default: cty.NumberIntVal(defaultProfileWindow.Nanoseconds()),
			Doc:     "How long the profiler is on. Traces grow with it, by some ten megabytes a second."},
		{Name: "timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Default: cty.NumberIntVal(defaultProfileTimeout.Nanoseconds()),
			Doc:     "Longest time that the profiler may take to write its traces."},
		{Name: "max_size", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitBytes, Default: cty.NumberIntVal(defaultProfileSize),
			Doc: "Most that the traces of both sides may take in the run directory, packed. They are read in any case, and those beyond it are " +
				"not kept."},
	}}
}

// readProfile reads a profile block and checks it beyond types. It returns nil for a block that is not enabled.
func readProfile(o steps.Object) (*config.Profile, []steps.Problem) {
	problems := profileSchema().Check(o)
	if o.Known("enabled") && o.Value("enabled").False() {
		return nil, problems
	}
	return &config.Profile{
		Profiler: o.Text("profiler"), Delay: o.Duration("delay"), Window: o.Duration("window"),
		Timeout: o.Duration("timeout"), MaxSize: int64(o.Float("max_size")),
	}, problems
}
