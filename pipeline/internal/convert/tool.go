package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Tool is a load generator whose results are read, and all that is known here of it. What it
// measures otherwise than the registry of metrics defines it is in gates/metric.
type Tool struct {
	// Name in results, behind --tool and in the driver of a benchmark.
	Name string
	// Releases whose sources its readers were written from.
	Releases string
	// Shapes are the objects that it writes, in JSON or YAML.
	Shapes []Shape
	// Bulk are the paths of what is too large in them to be held, and not needed.
	Bulk []string
	// Sheets are CSV files of it that hold no result.
	Sheets []Sheet
	// Command matches its program in a line of a shell.
	Command string
	// Aliases are names that llm-d's reports give it.
	Aliases []string
	// Prints are parts of the labels that only its printed block has.
	Prints []string
	// Approximates says of groups of figures how they differ from the registry's although they
	// are taken for them: comparisons with another tool say so.
	Approximates map[string]string
	// Counted tools are given the number of requests; the others measure for a time.
	Counted bool
	// Engine comes with the tool: lines of its log may stand between results.
	Engine func() steps.Engine
	// group is the group of a figure where that depends on the result; nil changes nothing.
	group func(r *Run, group string) string
}

// Sheet is a CSV file without a result: Headers has, for each of its forms, columns that it has,
// and Instead says what it is and what to import in its place.
type Sheet struct {
	Headers []string // "Endpoint,Type,Metric"
	Instead string
}

// Tools is a table of tools, of which the first that knows an object has it.
type Tools []Tool

// StandardTools are the tools that are known here.
func StandardTools() Tools { return slices.Clone(standard) }

var standard = Tools{vllm, sglang, guidellm, aiperf, genAIPerf, inferencePerf, inferenceBenchmarker, llmperf, trtllmBench, ours}

// Names are those of the tools.
func (t Tools) Names() []string {
	names := make([]string, len(t))
	for i, row := range t {
		names[i] = row.Name
	}
	return names
}

// named is the tool of a name, nil for none.
func (t Tools) named(name string) *Tool {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// commands matches a line of a shell that runs one of the tools: behind its program come an
// option, a variable or the end, and not the rest of a sentence.
func (t Tools) commands() *regexp.Regexp {
	var programs []string
	for _, row := range t {
		if row.Command != "" {
			programs = append(programs, row.Command)
		}
	}
	return regexp.MustCompile(`(?:` + strings.Join(programs, "|") + `)["']?(?:\s+(?:run\s+)?[-\\$"'{]|\s*$)`)
}

// bulk are the paths of what is not read.
func (t Tools) bulk() map[string]bool {
	out := map[string]bool{}
	for _, row := range t {
		for _, path := range row.Bulk {
			out[path] = true
		}
	}
	return out
}

// ours is the load generator of this program, whose files are those that are written here.
var ours = Tool{Name: "pipeline"}
