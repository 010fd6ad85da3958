package config

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Benchmark is a benchmark with its expanded matrix.
type Benchmark struct {
	Addr        string
	Description string
	Axes        []Axis
	Cells       []Cell // source order, last axis fastest
	Excluded    int
	RepeatMin   int
	RepeatMax   int
	// Passes is the number of times that each launch measures every cell, at least 1.
	Passes  int
	Seed    uint64
	Timeout time.Duration // of one run; 0: derived by plan
	// Limits holds the limits of the client's audit; nil means defaults.
	Limits      map[string]float64
	Range       hcl.Range
	TargetRange hcl.Range
}

// Axis is an axis of a matrix.
type Axis struct {
	Name   string
	Values []string // as text for people, in source order
	Range  hcl.Range
}

// Cell is a cell of a matrix.
type Cell struct {
	// Values holds the coordinates as text for people: "base", "4", "server.vllm.sut[\"base\"]".
	Values   []result.AxisValue
	Target   string // address of a server instance or a deployment
	Workload steps.Workload
	Typed    []cty.Value // of Values, as expressions see them
}

// Baseline describes what cells are compared with.
type Baseline struct {
	Addr  string // baseline.paired.merge_base
	Kind  result.BaselineKind
	Axis  string // paired: the axis that is compared
	Value string // paired: the text of the base's value
	Path  string // file: path, absolute
	// Branch, Sessions and Match select the sessions of a stored baseline.
	Branch   string
	Sessions int
	Match    []string
	// Differ lists what the sides may differ in besides the axis, by the names of package
	// comparability.
	Differ []string
	Range  hcl.Range
}

// Gate is a set of conditions on one benchmark.
type Gate struct {
	Addr        string
	Description string
	Benchmark   string // address
	Baseline    string // address, "" with assert
	Metrics     []metric.Metric
	Cells       []int // indices of the benchmark's cells for which `where` holds
	gates.Terms
	result.Actions
	OnUnprovenTransport result.Action
	// Condition is the condition of an assert, as the file writes it; "" if the gate compares.
	Condition   string
	Range       hcl.Range
	MarginRange hcl.Range
}

// Report describes where results are reported.
type Report struct {
	Addr    string
	Kind    string   // "file", "summary", or one of the registry, such as "github"
	Gates   []string // addresses; empty means all
	Path    string   // file: directory or file, below the working directory
	Formats []string // "markdown", "text", "json", "junit", "csv", "html"
	Rows    []string
	Cols    string
	Options map[string]string // of a kind of the registry
}
