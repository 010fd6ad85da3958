package convert

import (
	"regexp"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/vllm"
)

// Tools is a table of tools. The first that recognises an object reads it.
type Tools []foreign.Tool

// StandardTools returns the known tools.
func StandardTools() Tools { return foreign.Tools() }

var standard = StandardTools()

// readers read what the table of tools cannot express, by the names that its shapes give them.
var readers = map[string]func(root, item *value, r *Run, e *entryList) error{
	"inferencex": inferenceXRow, "sglang": sglangCache, "guidellm": guidellmBenchmark, "aiperf": aiperfRun,
	"genai-perf": genaiPerfLength, "aiperf aggregate": aiperfAggregate, "inference-perf": inferencePerfStage, "llmperf": llmperfSummary,
	"trtllm-bench": trtllmTokens, "llama-bench": llamaBenchTest,
}

// groups return the group of a tool's figure where it depends on the result.
var groups = map[string]func(r *Run, group string) string{"sglang": sglangGroup}

// engines come with a tool of their name: lines of their logs may stand between results.
var engines = map[string]func() steps.Engine{"vllm": vllm.New, "sglang": sglang.New}

// Names returns the names of the tools.
func (t Tools) Names() []string {
	names := make([]string, len(t))
	for i, row := range t {
		names[i] = row.Name
	}
	return names
}

// named returns the tool of a name, nil for none.
func (t Tools) named(name string) *foreign.Tool {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// commands matches a shell line that runs one of the tools: an option, a variable or the end
// follows the program, and not the rest of a sentence.
func (t Tools) commands() *regexp.Regexp {
	var programs []string
	for _, row := range t {
		if row.Command != "" {
			programs = append(programs, row.Command)
		}
	}
	return regexp.MustCompile(`(?:` + strings.Join(programs, "|") + `)["']?(?:\s+(?:run\s+)?[-\\$"'{]|\s*$)`)
}

// bulk returns the paths that are not read.
func (t Tools) bulk() map[string]bool {
	out := map[string]bool{}
	for _, row := range t {
		for _, path := range row.Bulk {
			out[path] = true
		}
	}
	return out
}
