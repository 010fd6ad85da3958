// Package event is the one stream of events that every view, the journal and the
// report of a run are fed from.
//
// An event is a line of JSON. The first line of a stream is the version. Additions are
// minor, changes are major; readers ignore fields they do not know.
package event

import (
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// Schema is the version of the stream that this code writes.
const Schema = "1.0"

// Type of an event.
type Type string

// The types of events.
const (
	Version     Type = "version"    // first line: schema and program version
	PlanReady   Type = "plan"       // what will be done, totals
	Diagnostic  Type = "diagnostic" // a warning or an error with its place
	StepStart   Type = "step_start"
	StepEnd     Type = "step_end"
	LaunchStart Type = "launch_start"
	LaunchState Type = "launch_state" // a readiness state was reached
	LaunchReady Type = "launch_ready"
	LaunchFail  Type = "launch_failed"
	LaunchStop  Type = "launch_stopped"
	// LaunchDone closes a planned launch with all its attempts: everything it measured is
	// in the journal. A launch without it is measured again by a resumed run.
	LaunchDone Type = "launch_done"
	// ProcessStart names an operating system process, so that a later run or a cleanup
	// can find what a killed one left.
	ProcessStart Type = "process_started"
	RunStart     Type = "run_start"    // one pass of one cell
	RunProgress  Type = "run_progress" // never stored
	RunEnd       Type = "run_end"      // with the measured run: resume reads it
	RepeatEnd    Type = "repeat_end"
	Look         Type = "look" // the gates were judged on the repeats so far
	GateResult   Type = "gate_result"
	ReportDone   Type = "report_written"
	Interrupted  Type = "interrupted"
	Heartbeat    Type = "heartbeat" // never stored
	Summary      Type = "summary"   // last line
)

// Event is one thing that happened. Only the fields that belong to its type are set.
type Event struct {
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	Type Type      `json:"type"`
	// Addr of the block it is about.
	Addr string `json:"addr,omitempty"`
	Text string `json:"text,omitempty"` // one line for people

	Schema  string `json:"schema,omitempty"`  // version
	Program string `json:"program,omitempty"` // version
	RunID   string `json:"run_id,omitempty"`

	Repeat  int    `json:"repeat,omitempty"`
	Repeats int    `json:"repeats,omitempty"`
	Launch  string `json:"launch,omitempty"`
	Target  string `json:"target,omitempty"`
	Cell    string `json:"cell,omitempty"`  // hash
	Label   string `json:"label,omitempty"` // cell for people: "chunked=on rate=4"
	// Pass counts the runs of the cell in the launch from 1; 0 where there is one.
	Pass  int    `json:"pass,omitempty"`
	State string `json:"state,omitempty"` // launch_state
	// Position in the whole schedule of runs.
	Index int `json:"index,omitempty"`
	Total int `json:"total,omitempty"`
	// Elapsed and Left (estimate) in seconds.
	Elapsed float64 `json:"elapsed_s,omitempty"`
	Left    float64 `json:"left_s,omitempty"`

	Progress *Progress       `json:"progress,omitempty"`
	Run      *result.Run     `json:"run,omitempty"`
	Started  *result.Launch  `json:"launched,omitempty"`
	Step     *result.Step    `json:"step,omitempty"`
	Gate     *result.Gate    `json:"gate,omitempty"`
	Failure  *result.Failure `json:"failure,omitempty"`
	Range    *result.Range   `json:"range,omitempty"`
	Verdict  result.Verdict  `json:"verdict,omitempty"`
	ExitCode *int            `json:"exit_code,omitempty"`
	Severity string          `json:"severity,omitempty"` // diagnostic: "error", "warning"
	Detail   string          `json:"detail,omitempty"`
	Path     string          `json:"path,omitempty"` // report_written
	Process  *Process        `json:"process,omitempty"`
	// Outputs of a step.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Describe is what a server said of itself (launch_ready).
	Describe map[string]string `json:"describe,omitempty"`
	// Totals of a plan.
	Plan *PlanTotals `json:"plan,omitempty"`
}

// Process is an operating system process. Start tells it from a later one that got the
// same number; its meaning is the system's (Linux: clock ticks since boot, field 22 of
// /proc/PID/stat).
type Process struct {
	PID   int      `json:"pid"`
	Start uint64   `json:"start"`
	Argv  []string `json:"argv,omitempty"`
}

// Progress of a run. Times in seconds.
type Progress struct {
	Sent     int     `json:"sent"`
	Done     int     `json:"done"`
	Failed   int     `json:"failed"`
	Total    int     `json:"total"`
	InFlight int     `json:"in_flight"`
	Rate     float64 `json:"rate,omitempty"` // done in a second so far
	TTFTp50  float64 `json:"ttft_p50_s"`
	TTFTp99  float64 `json:"ttft_p99_s"`
}

// PlanTotals says how much a plan will do.
type PlanTotals struct {
	Benchmarks int     `json:"benchmarks"`
	Cells      int     `json:"cells"`
	Repeats    int     `json:"repeats"`
	Launches   int     `json:"launches"`
	Runs       int     `json:"runs"`
	Seconds    float64 `json:"seconds"`
	Gates      int     `json:"gates"`
	Family     int     `json:"family"`
	Simulated  string  `json:"simulated,omitempty"`
}
