// Package event is the stream of events that feeds every view, the journal and the report of a run.
//
// An event is a line of JSON. The first line of a stream is the version. Additions are minor
// changes, others are major; readers ignore unknown fields.
package event

import (
	"sync"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// Schema is the version of the stream that this code writes.
const Schema = "1.0"

// Type of an event.
type Type string

// The types of events, described in Types.
const (
	Version      Type = "version"
	PlanReady    Type = "plan"
	Diagnostic   Type = "diagnostic"
	StepStart    Type = "step_start"
	StepEnd      Type = "step_end"
	ImageStart   Type = "image_start"
	ImageReady   Type = "image_ready"
	LaunchStart  Type = "launch_start"
	LaunchState  Type = "launch_state"
	LaunchReady  Type = "launch_ready"
	LaunchFail   Type = "launch_failed"
	LaunchStop   Type = "launch_stopped"
	LaunchDone   Type = "launch_done"
	ProcessStart Type = "process_start"
	RunStart     Type = "run_start"
	RunProgress  Type = "run_progress"
	RunEnd       Type = "run_end"
	ProbeEnd     Type = "probe_end"
	RepeatEnd    Type = "repeat_end"
	Look         Type = "look"
	GateResult   Type = "gate_result"
	ReportDone   Type = "report_written"
	Interrupted  Type = "interrupted"
	Heartbeat    Type = "heartbeat"
	Summary      Type = "summary"
)

// Severity of a diagnostic.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "info"
)

// Event is one event. Only the fields of its type are set; Types lists them, and FieldDocs
// describes them.
type Event struct {
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	Type Type      `json:"type"`
	Addr string    `json:"addr,omitempty"`
	Text string    `json:"text,omitempty"`

	Schema  string `json:"schema,omitempty"`
	Program string `json:"program,omitempty"`
	RunID   string `json:"run_id,omitempty"`
	Owner   string `json:"owner,omitempty"` // as in Process

	Repeat   int     `json:"repeat,omitempty"`
	Repeats  int     `json:"repeats,omitempty"`
	Replaces int     `json:"replaces,omitempty"`
	Launch   string  `json:"launch,omitempty"`
	Target   string  `json:"target,omitempty"`
	Cell     string  `json:"cell,omitempty"`
	Label    string  `json:"label,omitempty"`
	Pass     int     `json:"pass,omitempty"`
	State    string  `json:"state,omitempty"`
	Index    int     `json:"index,omitempty"`
	Total    int     `json:"total,omitempty"`
	Elapsed  float64 `json:"elapsed_s,omitempty"`
	Left     float64 `json:"left_s,omitempty"`

	Progress *Progress         `json:"progress,omitempty"`
	Run      *result.Run       `json:"run,omitempty"`
	Probe    *result.Probe     `json:"probe,omitempty"`
	Started  *result.Launch    `json:"launched,omitempty"`
	Step     *result.Step      `json:"step,omitempty"`
	Image    *result.Image     `json:"image,omitempty"`
	Gate     *result.Gate      `json:"gate,omitempty"`
	Failure  *result.Failure   `json:"failure,omitempty"`
	Range    *result.Range     `json:"range,omitempty"`
	Verdict  result.Verdict    `json:"verdict,omitempty"`
	ExitCode *int              `json:"exit_code,omitempty"`
	Severity Severity          `json:"severity,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	Path     string            `json:"path,omitempty"`
	Process  *Process          `json:"process,omitempty"`
	Outputs  map[string]string `json:"outputs,omitempty"`
	Describe map[string]string `json:"describe,omitempty"`
	Applied  *result.Applied   `json:"applied,omitempty"`
	Plan     *PlanTotals       `json:"plan,omitempty"`
}

// Process is an operating system process. Start distinguishes it from a later process with the same
// number. Its meaning depends on the system (Linux: clock ticks since boot, field 22 of
// /proc/PID/stat).
type Process struct {
	PID   int      `json:"pid"`
	Start uint64   `json:"start"`
	Argv  []string `json:"argv,omitempty"`
	// Owner identifies the program that started it, among all since the boot of the machine.
	Owner string `json:"owner,omitempty"`
}

// Progress is the progress of a run. Times are in seconds.
type Progress struct {
	Sent     int     `json:"sent"`
	Done     int     `json:"done"`
	Failed   int     `json:"failed"`
	Total    int     `json:"total"`
	InFlight int     `json:"in_flight"`
	Rate     float64 `json:"rate,omitempty"` // completed per second so far
	TTFTp50  float64 `json:"ttft_p50_s"`
	TTFTp99  float64 `json:"ttft_p99_s"`
}

// PlanTotals is the amount of work in a plan.
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

// Handler receives every event of a bus, in order. It must not emit.
type Handler interface {
	Handle(Event)
}

// Bus numbers and stamps events and passes each to every handler, in the order of attachment. It is
// safe for concurrent use: handlers receive one event at a time.
type Bus struct {
	now      func() time.Time
	mu       sync.Mutex
	seq      int
	handlers []Handler
}

// NewBus returns a bus whose events carry the times of now. The first event has the number after+1;
// a resumed run continues the count of its journal.
func NewBus(now func() time.Time, after int, handlers ...Handler) *Bus {
	return &Bus{now: now, seq: after, handlers: handlers}
}

// Attach adds a handler after the present ones. It only receives later events.
func (b *Bus) Attach(h Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handlers = append(b.handlers, h)
}

// Start emits the first event of a stream: the version. owner names this program as the owner of the processes that it starts,
// before it starts any: a kill may come before one of them is written. It is "" for a program that starts none.
func (b *Bus) Start(program, runID, owner string) {
	b.Emit(Event{Type: Version, Schema: Schema, Program: program, RunID: runID, Owner: owner})
}

// Emit numbers and stamps e and passes it on. It returns when every handler is done. An event that
// a journal syncs is then on disk, unless Err returns an error.
func (b *Bus) Emit(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	e.Seq, e.Time = b.seq, b.now()
	for _, h := range b.handlers {
		h.Handle(e)
	}
}

// Err returns the first error of the first handler that has one (an Err method that returns it). A
// run must stop if its journal cannot be written.
func (b *Bus) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.handlers {
		if f, ok := h.(interface{ Err() error }); ok {
			if err := f.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
