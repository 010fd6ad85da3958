// Package hub knows how servers get models from the Hugging Face hub: which names are of the hub, which models need a
// token, and where downloads are kept.
package hub

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// modelName matches the name of a model on the hub: an organisation and a model.
var modelName = lazyregexp.New(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// Has reports whether a model is named as one of the hub and not as a file.
func Has(model string) bool {
	return modelName.MatchString(model) && !strings.HasSuffix(model, ".gguf")
}

// gated holds prefixes of the names of models that the hub gives only to accounts that have accepted a licence.
var gated = []string{"meta-llama/", "google/gemma-"}

// Gated reports whether the hub gives a model only to accounts that have accepted its licence.
func Gated(model string) bool {
	return slices.ContainsFunc(gated, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// Tokens are the environment variables from which the hub's client takes a token, the first one first.
var Tokens = []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}

// HasToken reports whether a server is given a token of the hub.
func HasToken(spec steps.ServerSpec) bool {
	for _, name := range Tokens {
		if token, _ := steps.Getenv(spec.Env, name); token != "" {
			return true
		}
	}
	return false
}

// LoggedIn reports whether folder, that of the hub's client, has the token of a login.
func LoggedIn(folder string) bool { return exists(folder, "token") }

// Downloaded reports whether folder, that of the hub's client, has a model.
func Downloaded(folder, model string) bool {
	return exists(folder, "hub", "models--"+strings.ReplaceAll(model, "/", "--"))
}

func exists(folder string, below ...string) bool {
	_, err := os.Stat(filepath.Join(append([]string{folder}, below...)...))
	return folder != "" && err == nil
}

// ImageFolder is the folder to which an image that runs as root downloads models.
const ImageFolder = "/root/.cache/huggingface"

// Kept returns what outlives a launch and has the container's download folder of the hub's client: the name of a volume,
// the source of a mount, or the path of a cache. It is "" if nothing does.
func Kept(spec steps.ServerSpec) (source string, isMount bool) {
	home, _ := steps.Getenv(spec.Env, "HF_HOME")
	cache, _ := steps.Getenv(spec.Env, "HF_HUB_CACHE")
	dir := cmp.Or(cache, home, ImageFolder)
	holds := func(target string) bool {
		// If the image's user is not root, the cache is in another home.
		return strings.HasPrefix(dir+"/", path.Clean(target)+"/") || strings.Contains(target, "huggingface")
	}
	if c := spec.Container; c != nil {
		for _, v := range c.Volumes {
			if holds(v.Target) {
				return v.Name, false
			}
		}
		for _, m := range c.Mounts {
			if holds(m.Target) {
				return m.Source, true
			}
		}
	}
	for _, c := range spec.Caches {
		if holds(c.Path) {
			return c.Path, false
		}
	}
	return "", false
}

// sized matches the number of parameters in the name of a model: 7B, 8x7B, 0.5B.
var sized = lazyregexp.New(`(?i)(?:^|[-_/])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?:$|[-_.])`)

// narrow maps parts of names of quantized models to the bytes of a weight.
var narrow = []struct {
	part  string
	bytes float64
}{{"fp8", 1}, {"int8", 1}, {"w8a8", 1}, {"awq", 0.6}, {"gptq", 0.6}, {"int4", 0.6}, {"w4a16", 0.6}, {"fp4", 0.6}, {"4bit", 0.6}}

// Size estimates the bytes of a model's weights by its name, 0 if the name has no number of parameters.
func Size(model string) int64 {
	m := sized.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	billions, _ := strconv.ParseFloat(m[2], 64) // the expression allows numbers alone
	if experts, err := strconv.ParseFloat(m[1], 64); err == nil {
		billions *= experts
	}
	bytes := 2.0
	for _, n := range narrow {
		if strings.Contains(strings.ToLower(model), n.part) {
			bytes = n.bytes
			break
		}
	}
	return int64(billions * 1e9 * bytes)
}
