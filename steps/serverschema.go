package steps

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/zclconf/go-cty/cty"
)

// ServerSchema lists the arguments that every kind of server has. The meta arguments
// (extends, abstract, for_each, depends_on, role) belong to the language.
//
// Defaults of arguments with a unit are written in the converted unit: durations in
// nanoseconds.
func ServerSchema() Schema {
	return Schema{
		Attrs: append(sourceAttrs(), settingAttrs()...),
		Blocks: []BlockSchema{
			{Type: "ready", Max: 1, Schema: readySchema(), Doc: "When the server counts as ready, and how long that may take."},
			{Type: "container", Max: 1, Schema: containerSchema(), Doc: "How the container of a server with an image runs."},
			{Type: "cache", Schema: cacheSchema(), Doc: "What the server keeps from launch to launch, such as what it compiled. The first launch " +
				"of each side fills it or brings it up to date: its start-up time is compared with nothing, all else that it measures counts. " +
				"Simulated runs ignore it."},
			{Type: "simulate", Max: 1, Schema: simulateSchema(),
				Doc: "How the simulated server behaves. Used only with --simulate; a real launch ignores it."},
		},
	}
}

// sourceAttrs say where a server comes from and what it serves.
func sourceAttrs() []Attr {
	return []Attr{
		{Name: "image", Type: cty.String, Late: true, Doc: "Container image to run. Exactly one of image, executable and url is set."},
		{Name: "executable", Type: cty.DynamicPseudoType, Late: true,
			Doc: "Program to run: a string, or a list of strings with the words before the model. The program is looked up in PATH."},
		{Name: "url", Type: cty.String, Late: true,
			Doc: "Base address of a server that already answers, for example http://127.0.0.1:8000. It is neither started nor stopped."},
		{Name: "model", Type: cty.String, Late: true, Doc: "Model to serve: a name on the model hub or a folder."},
		{Name: "served_name", Type: cty.String, Late: true,
			Doc: "Name under which the model is served and requested; the model's own name unless set."},
		{Name: "version", Type: cty.String, Doc: "Version of the engine that args are written for, for example 0.11.0. It decides how flags " +
			"are written and which simulated flags exist; unset means a current one."},
	}
}

// settingAttrs say how it is run.
func settingAttrs() []Attr {
	return []Attr{
		{Name: "gpus", Type: cty.Number, Rule: Whole(0, 1024), Doc: "Number of GPUs the server uses. It is recorded and compared; it sets no " +
			"flag by itself. A container gets that many unless its block says which. A run locks the GPUs of the machine that it uses: all of " +
			"them where only a number is given, those that container.gpus or CUDA_VISIBLE_DEVICES names otherwise."},
		{Name: "args", Type: cty.DynamicPseudoType, Late: true, Doc: "Engine arguments as a map; they pass through as flags. max_model_len = " +
			"8192 becomes --max-model-len 8192, true becomes --flag, a list becomes several values, an object becomes JSON, null is left out."},
		{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Late: true, Doc: "Environment variables of the process. Secrets belong here."},
		{Name: "port", Type: cty.Number, Rule: PortRule, Doc: "Port to listen on; a free one is chosen unless set."},
		{Name: "node", Type: cty.Number, Rule: Whole(0, MaxNodes-1),
			Doc: "Node that the server runs on, counted from 0: of the Slurm job, or of the hosts of the docker block; the first unless set."},
		{Name: "nodes", Type: cty.Number, Rule: Whole(1, MaxNodes), Doc: "Number of nodes that the server is spread over, from its node on: " +
			"one process on each, which start, serve and end together. gpus then counts all of them, so many on each node. vLLM does it by " +
			"--nnodes, or as a Ray cluster with distributed_executor_backend = \"ray\"; SGLang by --nnodes. Without a slurm or docker block all " +
			"processes run on this machine."},
		{Name: "dir", Type: cty.String, Doc: "Working directory of the process; the pipeline file's folder unless set."},
		{Name: "api_key", Type: cty.String, Sensitive: true, Late: true, Doc: "Key that is sent as a bearer token with every request."},
		{Name: "stop_grace", Type: cty.Number, Rule: NotNegative, Unit: UnitDuration, Default: durationVal(DefaultStopGrace),
			Doc: "Time between the request to stop and the kill."},
	}
}

func readySchema() Schema {
	return Schema{Attrs: []Attr{
		{Name: "path", Type: cty.String, Rule: Matching("^/", "must begin with a slash", ""),
			Doc: "Path whose answer 200 means healthy; the engine's own health endpoint unless set."},
		{Name: "timeout", Type: cty.Number, Rule: AboveZero, Unit: UnitDuration, Doc: "Longest time from start to ready; beyond it the launch " +
			"has failed. 10 minutes unless set, and one minute for a server given by its url."},
		{Name: "interval", Type: cty.Number, Rule: AboveZero, Unit: UnitDuration, Default: durationVal(DefaultReadyInterval),
			Doc: "Time between two looks at the server."},
	}}
}

func simulateSchema() Schema {
	return Schema{Attrs: []Attr{
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
		{Name: "slowdown", Type: cty.Number, Unit: UnitPercent,
			Doc: "Plants a regression: \"8%\" makes every step of the model take 8 % longer."},
		{Name: "slow_op", Type: cty.String, Rule: oneOf(SimulatedOperations),
			Doc: "Operation that takes the time which slowdown adds, as a profile shows it; all of them in proportion unless set. One of " +
				strings.Join(SimulatedOperations, ", ") + "."},
		{Name: "corrupt", Type: cty.Number, Rule: share, Unit: UnitPercent,
			Doc: "Plants wrong answers: \"2%\" of prompts are answered with another text, the same ones in each launch."},
		{Name: "divergence", Type: cty.Number, Rule: share, Unit: UnitPercent, Doc: "Share of prompts that each launch answers otherwise than " +
			"the next, at some token; 0.5 % unless set. With 0 launches answer alike, log-probabilities included."},
		{Name: "acceptance", Type: cty.Number, Rule: share, Unit: UnitPercent, Doc: "Chance that a token of speculative decoding is accepted " +
			"where those drafted before it are, \"70%\" unless set. It is used where the server's arguments ask for speculation."},
		{Name: "launch_noise", Type: cty.Number, Unit: UnitPercent,
			Doc: "Standard deviation of a factor on all step times that is drawn once for each launch."},
		{Name: "noise", Type: cty.Number, Unit: UnitPercent, Doc: "Standard deviation of a factor that is drawn for each step on its own."},
		{Name: "drift", Type: cty.Number, Unit: UnitPercent,
			Doc: "Change of step times per hour of model time: \"4%\" makes the server 4 % slower after an hour."},
		{Name: "per_machine", Type: cty.Number, Unit: UnitPercent, Doc: "Plants a change that depends on the machine: how much longer every " +
			"step takes on each machine after the first; with --simulate=virtual, in files with machines."},
		{Name: "startup", Type: cty.Number, Unit: UnitDuration, Doc: "Time from start to ready, in model time."},
		{Name: "fail", Type: cty.List(cty.String), Doc: "Failures to play, for example oom, never_ready, exit_at_start, crash_after=100, " +
			"drop=0.02, ignore_sigterm; in a KV transfer transport_fallback, recompute, handshake_fail, peer_dies=10; of a server on several " +
			"nodes node_dies=10."},
		{Name: "seed", Type: cty.Number, Doc: "Seed of the noise; derived from the launch unless set."},
	}}
}

// SimulatedOperations are the operations of a simulated model's step.
var SimulatedOperations = []string{
	"embedding", "rms_norm", "qkv_proj", "rotary_embedding", "cache", "attention", "o_proj", "all_reduce", "gate_up_proj",
	"silu_and_mul", "down_proj",
	"send_recv", "lm_head", "sampler",
}

func durationVal(d time.Duration) cty.Value { return cty.NumberIntVal(d.Nanoseconds()) }

// CheckServer finds what is wrong with a server block of any kind, beyond types. Engines
// call it from Validate and add their own.
func CheckServer(o Object) []Problem {
	var found []Problem
	found = append(found, checkSource(o)...)
	found = append(found, ServerSchema().Check(o)...)
	if p, ok := checkSpread(o); !ok {
		found = append(found, p)
	}
	if p, ok := checkArgs(o); !ok {
		found = append(found, p)
	}
	if o.Known("url") {
		for _, name := range []string{"args", "env", "port", "dir", "gpus", "node", "nodes"} {
			if o.Has(name) {
				found = append(found, Problem{
					Path: []string{name}, Warning: true,
					Summary: fmt.Sprintf("%s has no effect on a server that already runs", name),
					Detail:  "The server at url was started elsewhere. Remove the argument, or replace url by image or executable.",
				})
			}
		}
	}
	found = append(found, checkContainer(o)...)
	found = append(found, checkCaches(o)...)
	return append(found, checkEnv(o)...)
}

func checkSource(o Object) []Problem {
	var set []string
	for _, name := range []string{"image", "executable", "url"} {
		if o.Has(name) {
			set = append(set, name)
		}
	}
	var found []Problem
	if len(set) > 1 {
		found = append(found, Problem{
			Path:    []string{set[1]},
			Summary: fmt.Sprintf("%s and %s exclude each other", set[0], set[1]),
			Detail:  "A server comes from exactly one of image, executable and url.",
		})
	}
	if o.Known("executable") {
		words, err := o.Texts("executable")
		if err != nil || len(words) == 0 || words[0] == "" {
			found = append(found, Problem{
				Path:    []string{"executable"},
				Summary: "executable must be a string or a list of strings",
				Detail:  `Write executable = "vllm" or executable = ["python3", "-m", "vllm.entrypoints.openai.api_server"].`,
			})
		}
	}
	if image := o.Text("image"); o.Known("image") && strings.ContainsFunc(image, func(r rune) bool {
		return unicode.IsSpace(r) ||
			unicode.IsControl(r)
	}) {
		found = append(found, Problem{
			Path:    []string{"image"},
			Summary: fmt.Sprintf("image %q has a space in it", image),
			Detail:  "The tag follows the name after a colon, for example vllm/vllm-openai:v0.11.0.",
		})
	} else if o.Known("image") {
		found = append(found, CheckTag(image, "image")...)
	}
	if o.Known("url") && !urlPattern.MatchString(o.Text("url")) {
		found = append(found, Problem{
			Path:    []string{"url"},
			Summary: "url must be an http or https address without user, query and fragment",
			Detail:  "For example http://127.0.0.1:8000. A key belongs into api_key.",
		})
	} else if strings.HasSuffix(strings.TrimRight(o.Text("url"), "/"), "/v1") {
		found = append(found, Problem{
			Path:    []string{"url"},
			Summary: "url must not end in /v1",
			Detail:  "It is the base address that paths such as /v1/completions and /health are added to.",
		})
	}
	return found
}

// urlPattern accepts scheme://host[:port][/path]. It stands in for net/url, which would
// accept far more than a base address.
var urlPattern = regexp.MustCompile(`^https?://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$`)

func checkArgs(o Object) (Problem, bool) {
	if !o.Has("args") {
		return Problem{}, true
	}
	v := o.Value("args")
	if !v.IsKnown() || v.Type().IsObjectType() || v.Type().IsMapType() {
		return Problem{}, true
	}
	return Problem{
		Path:    []string{"args"},
		Summary: "args must be a map of flags",
		Detail:  "For example args = { max_model_len = 8192, enable_chunked_prefill = true }.",
	}, false
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkEnv(o Object) []Problem {
	if !o.Has("env") {
		return nil
	}
	v := o.Value("env")
	if !v.IsKnown() || !v.CanIterateElements() {
		return nil
	}
	var found []Problem
	for it := v.ElementIterator(); it.Next(); {
		k, _ := it.Element()
		if !envName.MatchString(k.AsString()) {
			found = append(found, Problem{
				Path:    []string{"env", k.AsString()},
				Summary: fmt.Sprintf("%q is not the name of an environment variable", k.AsString()),
				Detail:  "Names have letters, digits and underscores and do not begin with a digit.",
			})
		}
	}
	return found
}
