package ab

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// origins are the flags from which attributes and blocks of the written file come.
var origins = map[string]string{
	"margin": "--margin", "rate": "--rate", "concurrency": "--concurrency", "max_concurrency": "--concurrency", "time": "--budget",
	"budget": "--budget", "requests": "--requests", "input_len": "--input-len", "output_len": "--output-len", "min": "--repeats",
	"max": "--repeats", "gpus": "--gpus", "model": "--model", "partition": "--slurm", "kubernetes": "--kubernetes",
	"for_each": "the sides", "image": "the sides", "executable": "the sides", "url": "the sides", "args": argumentFlags,
}

const argumentFlags = "--arg and --head-arg"

// firstWord is the name of an attribute or block.
var firstWord = lazyregexp.New(`^\s*"?([\w.-]+)"?\s*[={]`)

// Origin returns the flags from which a line of the written file comes, "" if it comes from none.
func (r Request) Origin(line string) string {
	found := firstWord.FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	if flag, ok := origins[found[1]]; ok {
		return flag
	}
	normal := func(name string) string { return strings.ReplaceAll(name, "-", "_") }
	for _, arg := range slices.Concat(r.Args, r.HeadArgs) {
		if name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); normal(name) == normal(found[1]) {
			return argumentFlags
		}
	}
	return ""
}
