package convert

import (
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// serverPattern matches commands that start a server of vLLM or SGLang, directly or in a container.
var serverPattern = lazyregexp.New(
	`(?:\bvllm\s+serve\b|vllm\.entrypoints\.(?:openai\.)?api_server\b|sglang\.launch_server\b|\bsglang\s+serve\b|\btrtllm-serve\b|` +
		`\bdocker\s+run\b.*(?:vllm/vllm-openai|lmsysorg/sglang)\S*)`)

// serverPrefix begins the parameters from arguments of the server command.
const serverPrefix = "serve_"

// serverDefault is the value of an argument that another command has and this one omits.
const serverDefault = "default"

// isServerCommand distinguishes a server command from a heading that names one, and from a line of
// its log.
func isServerCommand(line string) bool {
	return serverPattern.MatchString(line) && !logLine.MatchString(line) && (strings.Contains(line, " --") ||
		strings.HasSuffix(strings.TrimSpace(line), `\`)) && !heading.MatchString(line)
}

// serverArgs returns the arguments of a server command that describe the server, but not its
// address.
func serverArgs(line string) map[string]string {
	at := serverPattern.FindStringIndex(line)
	if at == nil {
		return nil
	}
	after := line[at[1]:]
	args := map[string]string{}
	for key, value := range commandArgs(after) {
		if !volatile.MatchString(key) {
			args[serverPrefix+key] = value
		}
	}
	if words := shellWords(after); len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		args[serverPrefix+"model"] = words[0]
	}
	for _, setting := range environment.FindAllStringSubmatch(line, -1) {
		args[serverPrefix+slug(setting[1])] = setting[2]
	}
	return args
}

// environment matches variables set for a command.
var environment = lazyregexp.New(`(?:^|\s)([A-Z][A-Z0-9_]+)=(\S+)`)

// serverKeys returns the server arguments of results.
func serverKeys(runs []*Run) []string {
	keys := map[string]bool{}
	for _, r := range runs {
		for key := range r.Params {
			if strings.HasPrefix(key, serverPrefix) {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// levelServers gives the results of a text every argument that one of their servers has. Servers
// without it have the engine's default.
func levelServers(runs []Run) {
	var served []*Run
	for i := range runs {
		if runs[i].served {
			served = append(served, &runs[i])
		}
	}
	for _, key := range serverKeys(served) {
		for _, r := range served {
			if _, ok := r.Params[key]; !ok {
				r.setParam(key, serverDefault)
			}
		}
	}
}
