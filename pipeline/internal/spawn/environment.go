package spawn

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/secret"
)

// Policy selects the environment variables that a child inherits: those on the allow-list, except names that
// indicate a secret (see [secret.Mentions]). Variables set by the command itself are always passed.
//
// The list is short on purpose. A runner's environment differs between machines, contains tokens of the
// workflow (GITHUB_TOKEN, ACTIONS_RUNTIME_TOKEN), and can break an engine: a Kubernetes service named vllm sets
// VLLM_PORT=tcp://..., which vLLM rejects. Settings of engines (VLLM_*, SGLANG_*) belong in the file, where
// both sides of a comparison get them and the report shows them.
type Policy struct {
	// Also lists further names to inherit. A trailing * makes a name a prefix. A name that indicates a secret
	// is inherited only if listed here in full.
	Also []string
}

// allowed lists names; a trailing * marks a prefix.
var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG", "LANGUAGE", "LC_*",
	"TMPDIR", "TMP", "TEMP", "XDG_*",
	"LD_LIBRARY_PATH", "LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_*", "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED",
	"CUDA_*", "NVIDIA_*", "NCCL_*", "UCX_*", "HIP_*", "ROCR_*", "ROCM_*", "GPU_DEVICE_ORDINAL",
	"HF_HOME", "HF_HUB_*", "HF_ENDPOINT", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE",
	"TORCH_*", "TORCHINDUCTOR_*", "TRITON_*", "OMP_*", "MKL_*", "OPENBLAS_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
}

// Environment returns the variables of a child: the inherited ones in the order of environ, then set. A later
// value of a name replaces an earlier one.
func (p Policy) Environment(environ []string, set []steps.EnvVar) []string {
	var out []string
	at := map[string]int{}
	put := func(name, value string) {
		if i, dup := at[name]; dup {
			out[i] = name + "=" + value
			return
		}
		at[name] = len(out)
		out = append(out, name+"="+value)
	}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && p.inherits(name) {
			put(name, value)
		}
	}
	for _, e := range set {
		put(e.Name, e.Value)
	}
	return out
}

func (p Policy) inherits(name string) bool {
	if slices.Contains(p.Also, name) {
		return true
	}
	if secret.Mentions(name) {
		return false
	}
	return matches(allowed, name) || matches(p.Also, name)
}

func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// Getenv returns a lookup in an environment; the last value of a name wins.
func Getenv(environ []string) func(name string) string {
	return func(name string) string {
		value := ""
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		return value
	}
}
