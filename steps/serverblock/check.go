package serverblock

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// Check finds what is wrong with a server block of any kind, beyond types. Engines
// call it from Validate and add their own.
func Check(o steps.Object) []steps.Problem {
	var found []steps.Problem
	found = append(found, checkSource(o)...)
	found = append(found, Schema().Check(o)...)
	if p, ok := checkSpread(o); !ok {
		found = append(found, p)
	}
	if p, ok := checkArgs(o); !ok {
		found = append(found, p)
	}
	if o.Known("url") {
		for _, name := range []string{"args", "env", "port", "dir", "gpus", "node", "nodes"} {
			if o.Has(name) {
				found = append(found, steps.Problem{
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

// OneNode refuses a server over several nodes. summary names the program, and detail says what to do instead.
func OneNode(o steps.Object, summary, detail string) []steps.Problem {
	if o.Int("nodes") <= 1 {
		return nil
	}
	return []steps.Problem{{Path: []string{"nodes"}, Summary: summary, Detail: detail}}
}

// NoKey refuses a key for a server that is started. detail says why its program cannot have one.
func NoKey(o steps.Object, detail string) []steps.Problem {
	if !o.Has("api_key") || o.Has("url") {
		return nil
	}
	return []steps.Problem{{Path: []string{"api_key"}, Summary: "api_key needs a server that already runs", Detail: detail}}
}

func checkSource(o steps.Object) []steps.Problem {
	var set []string
	for _, name := range []string{"image", "executable", "url"} {
		if o.Has(name) {
			set = append(set, name)
		}
	}
	var found []steps.Problem
	if len(set) > 1 {
		found = append(found, steps.Problem{
			Path:    []string{set[1]},
			Summary: fmt.Sprintf("%s and %s exclude each other", set[0], set[1]),
			Detail:  "A server comes from exactly one of image, executable and url.",
		})
	}
	if o.Known("executable") {
		words, err := o.Texts("executable")
		if err != nil || len(words) == 0 || words[0] == "" {
			found = append(found, steps.Problem{
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
		found = append(found, steps.Problem{
			Path:    []string{"image"},
			Summary: fmt.Sprintf("image %q has a space in it", image),
			Detail:  "The tag follows the name after a colon, for example vllm/vllm-openai:v0.11.0.",
		})
	} else if o.Known("image") {
		found = append(found, CheckTag(image, "image")...)
	}
	if o.Known("url") && !urlPattern.MatchString(o.Text("url")) {
		found = append(found, steps.Problem{
			Path:    []string{"url"},
			Summary: "url must be an http or https address without user, query and fragment",
			Detail:  "For example http://127.0.0.1:8000. Put a key into api_key.",
		})
	} else if strings.HasSuffix(strings.TrimRight(o.Text("url"), "/"), "/v1") {
		found = append(found, steps.Problem{
			Path:    []string{"url"},
			Summary: "url must not end in /v1",
			Detail:  "It is the base address that paths such as /v1/completions and /health are added to.",
		})
	}
	return found
}

// urlPattern accepts scheme://host[:port][/path]. It stands in for net/url, which would
// accept far more than a base address.
var urlPattern = lazyregexp.New(`^https?://(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$`)

func checkArgs(o steps.Object) (steps.Problem, bool) {
	if !o.Has("args") {
		return steps.Problem{}, true
	}
	v := o.Value("args")
	if !v.IsKnown() || v.Type().IsObjectType() || v.Type().IsMapType() {
		return steps.Problem{}, true
	}
	return steps.Problem{
		Path:    []string{"args"},
		Summary: "args must be a map of flags",
		Detail:  "For example args = { max_model_len = 8192, enable_chunked_prefill = true }.",
	}, false
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkEnv(o steps.Object) []steps.Problem {
	if !o.Has("env") {
		return nil
	}
	v := o.Value("env")
	if !v.IsKnown() || !v.CanIterateElements() {
		return nil
	}
	var found []steps.Problem
	for it := v.ElementIterator(); it.Next(); {
		k, _ := it.Element()
		if !envName.MatchString(k.AsString()) {
			found = append(found, steps.Problem{
				Path:    []string{"env", k.AsString()},
				Summary: fmt.Sprintf("%q is not the name of an environment variable", k.AsString()),
				Detail:  "Names have letters, digits and underscores and do not begin with a digit.",
			})
		}
	}
	return found
}

// checkSpread finds GPUs that cannot be the same number on each node.
func checkSpread(o steps.Object) (steps.Problem, bool) {
	nodes, gpus := o.Int("nodes"), o.Int("gpus")
	if nodes < 2 || gpus%nodes == 0 {
		return steps.Problem{}, true
	}
	return steps.Problem{
		Path: []string{"gpus"}, Summary: fmt.Sprintf("gpus must be a multiple of nodes, which is %d", nodes),
		Detail: "It counts the GPUs of the whole server, and each node has as many as the others.",
	}, false
}
