// Package plan turns an evaluated pipeline into a schedule: which targets are launched how often, which cells
// run in each launch in which order, what is compared with what, how long the run takes and how small a change
// it can find.
//
// A plan is a document (plan.json). Package engine executes it.
package plan

import (
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Schema is the version of plan.json.
const Schema = "pipeline/plan/1.0"

// Plan describes what a run will do.
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
	// Only holds the patterns that selected cells. NotSelected lists the comparisons of gates that they left
	// out.
	Only        []string             `json:"only,omitempty"`
	NotSelected []result.NotSelected `json:"not_selected,omitempty"`
	// Sides describes how the sides of paired baselines differ.
	Sides []result.Sides `json:"sides,omitempty"`
	// Price is the price of machines, nil if the file has none.
	Price *result.Price `json:"price,omitempty"`
	// Budget is the budget of the run, nil if it has none.
	Budget *Budget `json:"budget,omitempty"`
	// Resident is how the launches of a repeat stay loaded at the same time, one of steps.Residents; "" if one
	// ends before the next starts.
	Resident string   `json:"resident,omitempty"`
	Repeats  []Repeat `json:"repeats"`
	// Looks are the numbers of repeats after which the gates are judged. A single one means one judgement at
	// the end.
	Looks []int `json:"looks,omitempty"`
	// Before holds the looks as they were planned before repeats were added to the session, one list for each
	// extension.
	Before   [][]int  `json:"looks_before,omitempty"`
	Estimate Estimate `json:"estimate"`
	// Profile is the additional cost if a gate regresses and the file asks for a profile.
	Profile *Extra `json:"profile,omitempty"`
	// Notes are warnings that were known before the plan was made. They are among the Warnings.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Attempt counts the attempts at the same change from 1, if earlier ones are not part of this one. A pass
	// then needs gates.AttemptAlpha. 0 means that they are not counted.
	Attempt int `json:"attempt,omitempty"`
	// Red lists the gates that an earlier attempt saw regress, or may have seen. An inconclusive result fails
	// there.
	Red []string `json:"red,omitempty"`
	// Variance is the known spread of pairs, nil if only the pairs themselves show it.
	Variance *Variance `json:"variance,omitempty"`
	// Machines are the machines that repeats take in turn; nil if all run on the same.
	Machines *Machines `json:"machines,omitempty"`
	// Cluster is the cluster on which the servers run; nil for this machine.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Config is the evaluated file that the plan was made from; nil in a plan that was read from a run directory.
	Config *config.Config `json:"-"`

	// cells holds the positions of cells by their hashes. A plan that was derived from another has those of the other, which may
	// have more cells.
	cells map[string]cellAt
}

// Step is a step that runs before the first launch, in order.
type Step struct {
	Addr  string       `json:"addr"`
	Kind  string       `json:"kind"`
	Range result.Range `json:"range"`
}

// Target is a server or deployment that is measured.
type Target struct {
	Addr   string `json:"addr"`
	Engine string `json:"engine"`
	Model  string `json:"model,omitempty"`
	// Source is the image, the executable or the url.
	Source string `json:"source"`
	// Attached is true if the target runs already and the pipeline does not launch it.
	Attached bool     `json:"attached,omitempty"`
	Argv     []string `json:"argv,omitempty"` // as it would be rendered, with PORT for the port
	// Work holds the arguments and variables of its servers that decide their work, in one normal form. The names of those
	// of a deployment begin with the server's.
	Work map[string]string `json:"work,omitempty"`
	// Settings is a hash of the environment, the container and the like.
	Settings string `json:"settings,omitempty"`
	// Images lists the images of its containers, each once; empty if all run as processes.
	Images []string `json:"images,omitempty"`
	// GPUs is the number that it holds while it is launched, 0 if the file does not state it.
	GPUs int `json:"gpus,omitempty"`
	// Answering counts the servers of a deployment that are not launched, whose GPUs are unknown.
	Answering int `json:"answering,omitempty"`
	// Machines is the number of machines that it is spread over, absent for one.
	Machines int `json:"machines,omitempty"`
	// Connector moves KV cache between its servers, "" if the file declares no transfer.
	Connector string `json:"connector,omitempty"`
	// StartSeconds is how long a launch takes, from stored sessions and calibrations, or from the model of a
	// simulated target; 0 if unknown.
	StartSeconds float64 `json:"start_s,omitempty"`
	// Launch lists the processes in the order of their start; empty for a server that is not launched.
	Launch []Process    `json:"launch,omitempty"`
	Range  result.Range `json:"range"`
}

// Benchmark is a benchmark with its cells.
type Benchmark struct {
	Addr        string `json:"addr"`
	Description string `json:"description,omitempty"`
	Axes        []Axis `json:"axes"`
	Excluded    int    `json:"excluded,omitempty"`
	RepeatMin   int    `json:"repeat_min"`
	RepeatMax   int    `json:"repeat_max"`
	// Passes is the number of times that each launch measures every cell; 0 means 1.
	Passes  int                `json:"passes,omitempty"`
	Seed    uint64             `json:"seed"`
	Timeout float64            `json:"timeout_s"`
	Cells   []Cell             `json:"cells"`
	Limits  map[string]float64 `json:"limits,omitempty"`
	Range   result.Range       `json:"range"`
}

// Axis is an axis of a benchmark's matrix.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell is a cell of a benchmark.
type Cell struct {
	Hash     string             `json:"hash"`     // identity, see Hash
	WorkKey  string             `json:"work_key"` // identity without target and compared axis: same prompts, arrivals and order on all sides
	Values   []result.AxisValue `json:"values"`
	Target   string             `json:"target"`
	Workload steps.Workload     `json:"workload"`
	Seconds  float64            `json:"seconds"` // estimate of one run
}

// Gate is a gate with its comparisons.
type Gate struct {
	Addr         string              `json:"addr"`
	Description  string              `json:"description,omitempty"`
	Benchmark    string              `json:"benchmark"`
	Baseline     string              `json:"baseline,omitempty"`
	BaselineKind result.BaselineKind `json:"baseline_kind,omitempty"`
	BaselinePath string              `json:"baseline_path,omitempty"`
	// Stored selects the sessions of the history that count, nil without such a baseline.
	Stored    *Stored `json:"stored,omitempty"`
	Axis      string  `json:"axis,omitempty"`
	BaseValue string  `json:"base_value,omitempty"`
	// Differ lists what the baseline lets the sides differ in besides the axis.
	Differ  []string `json:"differ,omitempty"`
	Metrics []string `json:"metrics,omitempty"`
	gates.Terms
	result.Actions
	// OnUnprovenTransport is the action for a KV transfer whose transport is not proven.
	OnUnprovenTransport result.Action `json:"on_unproven_transport,omitempty"`
	Assert              bool          `json:"assert,omitempty"`
	// Comparisons holds pairs of cell hashes; for an assert only Head is set.
	Comparisons []Comparison `json:"comparisons"`
	// Losses are the losses that a gate on the scores of questions can find.
	Losses []Loss `json:"losses,omitempty"`
	// Power is how small a change the gate can find.
	Power []Power      `json:"power,omitempty"`
	Range result.Range `json:"range"`
}

// Stored is a baseline in the history.
type Stored struct {
	Branch   string   `json:"branch"`
	Sessions int      `json:"sessions"`
	Match    []string `json:"match,omitempty"`
}

// Comparison is a comparison of two cells on every metric of the gate.
type Comparison struct {
	Head      string             `json:"head"`           // cell hash
	Base      string             `json:"base,omitempty"` // cell hash, "" if the baseline is not in this session
	Values    []result.AxisValue `json:"values"`         // coordinates without the compared axis
	HeadValue string             `json:"head_value,omitempty"`
	BaseValue string             `json:"base_value,omitempty"`
	// SameLaunches is true if an earlier comparison of the gate has the same targets. Metrics with one value
	// per launch are compared there.
	SameLaunches bool `json:"same_launches,omitempty"`
}

// Repeat is one launch of every target with the passes of every cell in each.
type Repeat struct {
	Index int `json:"index"` // from 1
	// Lane is the lane of the cluster, or the machine, on which it runs, from 0. Consecutive repeats on
	// different lanes of a cluster run side by side.
	Lane int `json:"lane,omitempty"`
	// Beside is true if its launches stay loaded beside those of the repeat before, each of the same target.
	// The two repeats are a pair in which a server is compared with itself.
	Beside   bool     `json:"beside,omitempty"`
	Launches []Launch `json:"launches"`
}

// Launch is the launch of one target, with its runs in order of execution.
type Launch struct {
	ID     string `json:"id"`
	Target string `json:"target"`
	Runs   []Run  `json:"runs"`
}

// Run is a run of one cell.
type Run struct {
	Benchmark string `json:"benchmark"`
	Cell      string `json:"cell"` // hash
	// Pass counts the runs of the cell in this launch from 1; 0 if there is one.
	Pass int `json:"pass,omitempty"`
	// Seed determines the content. It is the same on every side of the repeat and differs between repeats and
	// passes. ShapeSeed determines arrival times and lengths. It is the same in all repeats.
	Seed      uint64 `json:"seed"`
	ShapeSeed uint64 `json:"shape_seed"`
}

// Estimate is the estimated cost of a plan.
type Estimate struct {
	Launches int     `json:"launches"`
	Runs     int     `json:"runs"`
	Seconds  float64 `json:"seconds"`
	// Sequential is how long the repeats would take one after another, if several run side by side; else 0.
	Sequential float64 `json:"sequential_s,omitempty"`
	// Hours are the hours that launches hold. StartShare is the share until servers are ready, WarmupShare the
	// share of the warm-up that follows.
	result.Hours
	StartShare  float64 `json:"start_share,omitempty"`
	WarmupShare float64 `json:"warmup_share,omitempty"`
	// UnknownStarts counts launches whose start-up time is unknown. The figures exclude it.
	UnknownStarts int `json:"unknown_starts,omitempty"`
	// Basis describes where the figures come from.
	Basis string `json:"basis"`
}
