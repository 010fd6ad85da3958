// Package plan turns an evaluated pipeline into a schedule: which targets are launched
// how often, which cells run in each launch in which order, what will be compared with
// what, how long it takes and how small a change it can find.
//
// A plan is a document (plan.json). Carrying it out is the work of package engine.
package plan

import (
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Schema is the version of plan.json.
const Schema = "pipeline/plan/1.0"

// Plan is what will be done.
type Plan struct {
	Schema      string            `json:"schema"`
	File        string            `json:"file"`
	Title       string            `json:"title,omitempty"`
	Fingerprint string            `json:"fingerprint"` // hash of everything that resume must find unchanged
	Alpha       float64           `json:"alpha"`
	FamilySize  int               `json:"family_size"`
	Simulated   string            `json:"simulated,omitempty"`
	TimeScale   float64           `json:"time_scale"`
	Timeout     float64           `json:"timeout_s,omitempty"`
	Variables   map[string]string `json:"variables,omitempty"` // sensitive ones as "(sensitive)"
	Steps       []Step            `json:"steps,omitempty"`
	Targets     []Target          `json:"targets"`
	Benchmarks  []Benchmark       `json:"benchmarks"`
	Gates       []Gate            `json:"gates"`
	// Measures are the metrics that the file declares.
	Measures []steps.Measure `json:"measures,omitempty"`
	// Only are the patterns that cells were selected by, and NotSelected lists what of the gates
	// they left out.
	Only        []string             `json:"only,omitempty"`
	NotSelected []result.NotSelected `json:"not_selected,omitempty"`
	// Sides say how the sides of paired baselines differ.
	Sides []result.Sides `json:"sides,omitempty"`
	// Price of machines, nil where the file has none.
	Price *result.Price `json:"price,omitempty"`
	// Budget of the run, nil where it has none.
	Budget *Budget `json:"budget,omitempty"`
	// Resident is how the launches of a repeat stay loaded at the same time, one of
	// steps.Residents; "" where one ends before the next starts.
	Resident string   `json:"resident,omitempty"`
	Repeats  []Repeat `json:"repeats"`
	// Looks are the numbers of repeats after which the gates are judged; one is a single
	// judgement at the end.
	Looks []int `json:"looks,omitempty"`
	// Before are the looks as they were planned before repeats were added to the session,
	// one list for each time.
	Before   [][]int  `json:"looks_before,omitempty"`
	Estimate Estimate `json:"estimate"`
	// Profile is what comes on top where a gate regresses and the file has that profiled.
	Profile *Extra `json:"profile,omitempty"`
	// Notes are what was known of the plan before it was made; they are among the Warnings.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Attempt counts the tries of the same change from 1, where earlier ones are not part
	// of this one: a pass then needs gates.AttemptAlpha. 0 means that they are not counted.
	Attempt int `json:"attempt,omitempty"`
	// Red are the gates that an earlier attempt saw regress, or may have seen: what is not
	// decided there fails.
	Red []string `json:"red,omitempty"`
	// Variance is what is known of the spread of pairs, nil where only they say.
	Variance *Variance `json:"variance,omitempty"`
	// Machines that repeats take in turn; nil where all have the same.
	Machines *Machines `json:"machines,omitempty"`
	// Cluster that the servers run on; nil for this machine.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Tests that gates name; nil stands for the standard ones.
	Tests gates.Tests `json:"-"`
}

// Step to carry out before the first launch, in order.
type Step struct {
	Addr  string       `json:"addr"`
	Kind  string       `json:"kind"`
	Range result.Range `json:"range"`
}

// Target that will be launched.
type Target struct {
	Addr   string `json:"addr"`
	Engine string `json:"engine"`
	Model  string `json:"model,omitempty"`
	// Source is the image, the executable or the url.
	Source string `json:"source"`
	// Attached targets answer already: the pipeline does not launch them.
	Attached bool     `json:"attached,omitempty"`
	Argv     []string `json:"argv,omitempty"` // as it would be rendered, with PORT for the port
	// Settings is a hash of the environment, the container and the like.
	Settings string `json:"settings,omitempty"`
	// Images of its containers, each once; none where all runs as processes.
	Images []string `json:"images,omitempty"`
	// GPUs that it holds while it is launched, 0 where the file does not say.
	GPUs int `json:"gpus,omitempty"`
	// Answering counts servers of a deployment that it does not launch, whose GPUs are unknown.
	Answering int `json:"answering,omitempty"`
	// Machines that it is spread over, absent where it is one.
	Machines int `json:"machines,omitempty"`
	// StartSeconds is how long a launch of it takes, as stored sessions and calibrations say, or
	// the model of a simulated one; 0 if nothing does.
	StartSeconds float64 `json:"start_s,omitempty"`
	// Launch lists the processes in the order of their start; empty for a server that
	// answers already.
	Launch []Process    `json:"launch,omitempty"`
	Range  result.Range `json:"range"`
}

// Benchmark with its cells.
type Benchmark struct {
	Addr        string `json:"addr"`
	Description string `json:"description,omitempty"`
	Axes        []Axis `json:"axes"`
	Excluded    int    `json:"excluded,omitempty"`
	RepeatMin   int    `json:"repeat_min"`
	RepeatMax   int    `json:"repeat_max"`
	// Passes of every cell in each launch; 0 means 1.
	Passes  int                `json:"passes,omitempty"`
	Seed    uint64             `json:"seed"`
	Timeout float64            `json:"timeout_s"`
	Cells   []Cell             `json:"cells"`
	Limits  map[string]float64 `json:"limits,omitempty"`
	Range   result.Range       `json:"range"`
}

// Axis of a benchmark's matrix.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell of a benchmark.
type Cell struct {
	Hash     string             `json:"hash"`     // identity, see Hash
	WorkKey  string             `json:"work_key"` // identity without target and compared axis: same prompts, arrivals and order on all sides
	Values   []result.AxisValue `json:"values"`
	Target   string             `json:"target"`
	Workload steps.Workload     `json:"workload"`
	Seconds  float64            `json:"seconds"` // estimate of one run
}

// Gate with its comparisons.
type Gate struct {
	Addr         string              `json:"addr"`
	Description  string              `json:"description,omitempty"`
	Benchmark    string              `json:"benchmark"`
	Baseline     string              `json:"baseline,omitempty"`
	BaselineKind result.BaselineKind `json:"baseline_kind,omitempty"`
	BaselinePath string              `json:"baseline_path,omitempty"`
	// Stored says which sessions of the history count, nil without such a baseline.
	Stored    *Stored `json:"stored,omitempty"`
	Axis      string  `json:"axis,omitempty"`
	BaseValue string  `json:"base_value,omitempty"`
	// Differ lists what the baseline lets the sides differ in besides the axis.
	Differ  []string `json:"differ,omitempty"`
	Metrics []string `json:"metrics,omitempty"`
	gates.Terms
	result.Actions
	// OnUnprovenTransport says what a KV transfer does that nothing proves.
	OnUnprovenTransport result.Action `json:"on_unproven_transport,omitempty"`
	Assert              bool          `json:"assert,omitempty"`
	// Comparisons as pairs of cell hashes; for an assert only Head is set.
	Comparisons []Comparison `json:"comparisons"`
	// Losses are what it can find that compares the scores of questions.
	Losses []Loss `json:"losses,omitempty"`
	// Power is what it can find.
	Power []Power      `json:"power,omitempty"`
	Range result.Range `json:"range"`
}

// Stored is a baseline in the history.
type Stored struct {
	Branch   string   `json:"branch"`
	Sessions int      `json:"sessions"`
	Match    []string `json:"match,omitempty"`
}

// Comparison of two cells on every metric of the gate.
type Comparison struct {
	Head      string             `json:"head"`           // cell hash
	Base      string             `json:"base,omitempty"` // cell hash, "" if the baseline is not in this session
	Values    []result.AxisValue `json:"values"`         // coordinates without the compared axis
	HeadValue string             `json:"head_value,omitempty"`
	BaseValue string             `json:"base_value,omitempty"`
	// SameLaunches says that an earlier comparison of the gate is of the same targets. What
	// a launch has one value of is compared there.
	SameLaunches bool `json:"same_launches,omitempty"`
}

// Repeat is one launch of every target with the passes of every cell in each.
type Repeat struct {
	Index int `json:"index"` // from 1
	// Lane of the cluster, or machine of several, that it runs on, from 0. Repeats of different lanes of a
	// cluster in a row run side by side.
	Lane int `json:"lane,omitempty"`
	// Beside says that its launches stay loaded beside those of the repeat before, of the same target each:
	// the two of a pair in which a server is set against itself.
	Beside   bool     `json:"beside,omitempty"`
	Launches []Launch `json:"launches"`
}

// Launch of one target and the runs in it, in order of execution.
type Launch struct {
	ID     string `json:"id"`
	Target string `json:"target"`
	Runs   []Run  `json:"runs"`
}

// Run of one cell.
type Run struct {
	Benchmark string `json:"benchmark"`
	Cell      string `json:"cell"` // hash
	// Pass counts the runs of the cell in this launch from 1; 0 where there is one.
	Pass int `json:"pass,omitempty"`
	// Seed of the content, the same on every side of the repeat and another in each
	// repeat and pass. ShapeSeed of arrival times and lengths, the same in all repeats.
	Seed      uint64 `json:"seed"`
	ShapeSeed uint64 `json:"shape_seed"`
}

// Estimate of the cost.
type Estimate struct {
	Launches int     `json:"launches"`
	Runs     int     `json:"runs"`
	Seconds  float64 `json:"seconds"`
	// Sequential is what it would take one repeat after another, where several run side by
	// side; else 0.
	Sequential float64 `json:"sequential_s,omitempty"`
	// Hours that launches hold, of which StartShare goes by until servers are
	// ready and WarmupShare until their warm-up is over.
	result.Hours
	StartShare  float64 `json:"start_share,omitempty"`
	WarmupShare float64 `json:"warmup_share,omitempty"`
	// UnknownStarts are launches of whose start nothing says how long it takes. The figures are
	// without it.
	UnknownStarts int `json:"unknown_starts,omitempty"`
	// Basis says where the figure comes from.
	Basis string `json:"basis"`
}

// MaxRepeats is the most repeats that a plan has.
const MaxRepeats = lang.MaxRepeats
