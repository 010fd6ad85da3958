package serverblock

import (
	"math/big"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/zclconf/go-cty/cty"
)

// share is a part of a whole.
var share = steps.Number("must be from 0 % to 100 %", func(f *big.Float) bool { return f.Sign() >= 0 && f.Cmp(big.NewFloat(1)) <= 0 })

func simulateSchema() steps.Schema {
	operations := model.OperationNames()
	listed := strings.Join(operations, ", ")
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "profile", Type: cty.String, Doc: "Hardware to model: fast (a small imaginary device for demonstrations, which runs every model " +
			"as if it had half a billion parameters), a10, a100, h100, h200 or b200. On these the model's size counts: parameters, layers, heads, " +
			"experts and the format of its weights."},
		{Name: "version", Type: cty.String, Doc: "Engine version whose flags and behaviour are simulated; the server's version unless set."},
		{Name: "parameters", Type: cty.Number, Doc: "Parameters of the model, for example 32e9, where neither config.json in its folder nor " +
			"the table of known models says them. The arguments below fill in more of its shape; what is left out has common proportions."},
		{Name: "active_parameters", Type: cty.Number,
			Doc: "Parameters that one token of a mixture of experts takes part in; all of them unless set."},
		{Name: "layers", Type: cty.Number, Doc: "Layers of the model that parameters describes."},
		{Name: "hidden_size", Type: cty.Number, Doc: "Width between the layers of the model that parameters describes."},
		{Name: "heads", Type: cty.Number, Doc: "Attention heads of the model that parameters describes."},
		{Name: "kv_heads", Type: cty.Number, Doc: "Heads with keys and values of their own of the model that parameters describes."},
		{Name: "head_dim", Type: cty.Number, Doc: "Width of a head of the model that parameters describes."},
		{Name: "weight_bits", Type: cty.Number,
			Doc: "Bits of one weight of the model that parameters describes; 16 unless its name or its flags say another."},
		{Name: "slowdown", Type: cty.Number, Unit: steps.UnitPercent,
			Doc: "Plants a regression: \"8%\" makes every step of the model take 8 % longer."},
		{Name: "slow_op", Type: cty.String, Rule: steps.Matching("^(?:"+strings.Join(operations, "|")+")$", "must be one of "+listed, ""),
			Doc: "Operation that takes the time which slowdown adds, as a profile shows it; all of them in proportion unless set. One of " +
				listed + "."},
		{Name: "corrupt", Type: cty.Number, Rule: share, Unit: steps.UnitPercent,
			Doc: "Plants wrong answers: \"2%\" of prompts are answered with another text, the same ones in each launch."},
		{Name: "divergence", Type: cty.Number, Rule: share, Unit: steps.UnitPercent,
			Doc: "Share of prompts that each launch answers otherwise than " +
				"the next, at some token; 0.5 % unless set. With 0 launches answer alike, log-probabilities included."},
		{Name: "acceptance", Type: cty.Number, Rule: share, Unit: steps.UnitPercent,
			Doc: "Chance that a token of speculative decoding is accepted " +
				"where those drafted before it are, \"70%\" unless set. It is used where the server's arguments ask for speculation."},
		{Name: "launch_noise", Type: cty.Number, Unit: steps.UnitPercent,
			Doc: "Standard deviation of a factor on all step times that is drawn once for each launch."},
		{Name: "noise", Type: cty.Number, Unit: steps.UnitPercent, Doc: "Standard deviation of a factor that is drawn for each step on its own."},
		{Name: "drift", Type: cty.Number, Unit: steps.UnitPercent,
			Doc: "Change of step times per hour of model time: \"4%\" makes the server 4 % slower after an hour."},
		{Name: "per_machine", Type: cty.Number, Unit: steps.UnitPercent,
			Doc: "Plants a change that depends on the machine: how much longer every " +
				"step takes on each machine after the first; with --simulate=virtual, in files with machines."},
		{Name: "startup", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Time from start to ready, in model time."},
		{Name: "fail", Type: cty.List(cty.String), Doc: "Failures to play, for example oom, never_ready, exit_at_start, crash_after=100, " +
			"drop=0.02, ignore_sigterm; in a KV transfer transport_fallback, recompute, handshake_fail, peer_dies=10; of a server on several " +
			"nodes node_dies=10."},
		{Name: "seed", Type: cty.Number, Doc: "Seed of the noise; derived from the launch unless set."},
	}}
}
