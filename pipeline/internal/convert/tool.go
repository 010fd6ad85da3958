package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/steps"
)

// Tool is a load generator whose results can be read, with everything this package knows of it. Its
// definitions that differ from the registry's are in gates/metric.
type Tool struct {
	// Name in results, after --tool and in the driver of a benchmark.
	Name string
	// Releases whose sources its readers follow.
	Releases string
	// Shapes are the objects that it writes, in JSON or YAML.
	Shapes []Shape
	// Bulk are the paths of large values that are not needed.
	Bulk []string
	// Sheets are its CSV files without results.
	Sheets []Sheet
	// Command matches its program in a shell line.
	Command string
	// Aliases are its names in llm-d's reports.
	Aliases []string
	// Prints are parts of labels that only its printed block has.
	Prints []string
	// Approximates lists groups of figures that count as the registry's although they differ
	// slightly, with the difference. Comparisons with another tool report it.
	Approximates map[string]string
	// Counted tools take a number of requests; the others measure for a time.
	Counted bool
	// Engine comes with the tool: lines of its log may stand between results.
	Engine func() steps.Engine
	// group returns the group of a figure if it depends on the result; nil changes nothing.
	group func(r *Run, group string) string
}

// Sheet is a CSV file without a result. Headers has columns of each of its forms, and Instead says
// what it is and what to import instead.
type Sheet struct {
	Headers []string // "Endpoint,Type,Metric"
	Instead string
}

// Tools is a table of tools. The first that recognises an object reads it.
type Tools []Tool

// StandardTools returns the known tools.
func StandardTools() Tools { return slices.Clone(standard) }

var standard = Tools{vllm, sglang, guidellm, aiperf, genAIPerf, inferencePerf, inferenceBenchmarker, llmperf, trtllmBench, ours}

// Names returns the names of the tools.
func (t Tools) Names() []string {
	names := make([]string, len(t))
	for i, row := range t {
		names[i] = row.Name
	}
	return names
}

// named returns the tool of a name, nil for none.
func (t Tools) named(name string) *Tool {
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

// ours is the load generator of this program, whose files this package also writes.
var ours = Tool{Name: comparability.OwnTool}
