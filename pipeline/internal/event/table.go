package event

// Info describes a type of events: its fields and how the journal stores it. It is one row of the
// table that the journal, its tests and the documentation use.
type Info struct {
	Type Type
	Doc  string
	// Fields lists the JSON names of possible fields besides seq, time, type and text.
	Fields []string
	Keep   Keep
}

// Keep is how the journal stores an event.
type Keep int

// The ways to keep an event.
const (
	Shown  Keep = iota // only shown by views
	Stored             // stored in the journal
	Synced             // and synced to disk before anything else happens: a resumed run relies on it
)

// String returns the word in the documentation.
func (k Keep) String() string { return [...]string{"shown", "stored", "synced"}[k] }

// Fields of an event about a launch, and of one about a run in it.
var (
	aboutLaunch = []string{"addr", "repeat", "repeats", "replaces", "launch", "target", "index", "total", "elapsed_s", "left_s"}
	aboutRun    = append([]string{"cell", "label", "pass"}, aboutLaunch...)
)

func with(about []string, more ...string) []string { return append(more, about...) }

// Types is the table of all types, in the order of a run.
var Types = []Info{
	{Version, "Begins a stream: what wrote it, and in which version.", []string{"schema", "program", "run_id", "owner"}, Stored},
	{PlanReady, "What will be done: the file, and how much of everything.", []string{"plan"}, Stored},
	{Diagnostic, "A warning, an error or a remark, with its place if it has one.", []string{"severity", "detail", "range"}, Stored},
	{StepStart, "A step begins.", []string{"addr", "range"}, Stored},
	{StepEnd, "A step is done, has failed or was left out.", []string{"addr", "step", "outputs", "failure"}, Synced},
	{ImageStart, "An image is looked for, and pulled where it has to be: before the first launch.", []string{"image"}, Stored},
	{ImageReady, "An image is there: a resumed run adds its time to the bill.", []string{"image"}, Synced},
	{LaunchStart, "A target is started for a repeat.", with(aboutLaunch, "range"), Synced},
	{ProcessStart, "An operating system process was started, so that a later run or a cleanup finds what a killed one left.",
		[]string{"process"}, Synced},
	{LaunchState, "A launch has reached a state on its way to being ready, or tells why it is not ready yet.",
		with(aboutLaunch, "state", "applied"), Stored},
	{LaunchReady, "A target serves, with what it reports about itself.", with(aboutLaunch, "launched", "describe"), Synced},
	{LaunchFail, "An attempt to launch a target has failed.", with(aboutLaunch, "launched", "failure", "range"), Synced},
	{RunStart, "A pass of a cell begins.", aboutRun, Stored},
	{RunProgress, "How the run goes.", with(aboutRun, "progress"), Shown},
	{ProbeEnd, "A load of a search was measured: a resumed search goes on after it.", with(aboutRun, "probe"), Synced},
	{RunEnd, "A pass of a cell was measured: resume reads the run.", with(aboutRun, "run"), Synced},
	{LaunchStop, "A target was stopped.", with(aboutLaunch, "launched"), Synced},
	{LaunchDone, "Closes a planned launch with all its attempts: what it measured is in the journal. A launch without it is measured again " +
		"by a resumed run.", []string{"launch", "repeat", "target"}, Synced},
	{RepeatEnd, "Every side was launched once more.", []string{"repeat", "repeats", "replaces"}, Synced},
	{Look, "An interim analysis: the gates were judged on the repeats so far.", []string{"repeat", "repeats"}, Stored},
	{GateResult, "The verdict of a gate.", []string{"addr", "gate", "verdict", "range"}, Stored},
	{ReportDone, "A report was written.", []string{"path"}, Stored},
	{Interrupted, "The run was ended before it was complete.", nil, Synced},
	{Heartbeat, "The run goes on, and how long it will take.", []string{"index", "total", "elapsed_s", "left_s"}, Shown},
	{Summary, "Ends a stream: the verdict over all gates and the exit code.", []string{"verdict", "exit_code"}, Synced},
}

// FieldDocs describes the fields by their JSON names.
var FieldDocs = map[string]string{
	"seq": "counts the events of a run directory from 1", "time": "when it happened", "type": "the type of the event",
	"text": "one line for people",
	"addr": "the block that it is about", "schema": "version of the stream", "program": "version of the program",
	"run_id": "the ID of the run directory",
	"owner":  "the program that writes the stream, as in process; absent if it starts no processes",
	"repeat": "the repeat, from 1", "repeats": "of so many",
	"replaces": "the planned repeat whose void runs this one measures again; its own number is above all that a plan can have",
	"launch":   "the launch's ID", "target": "what is launched", "cell": "the cell's hash",
	"image": "an image as results.json has it",
	"label": "the cell's values", "pass": "the pass of the cell in its launch, from 1; absent where there is one",
	"state": "the state that was reached",
	"index": "position in the schedule of runs", "total": "length of the schedule", "elapsed_s": "seconds so far",
	"left_s":   "estimate of the seconds that are left",
	"progress": "requests sent, done, failed, in flight, and first latencies", "run": "a run as results.json has it",
	"probe": "a load that a search tried, as results.json has it", "launched": "a launch as results.json has it",
	"step": "a step as results.json has it", "gate": "a gate as results.json has it",
	"failure": "why something failed, with the end of the log",
	"range":   "a place in the pipeline file", "verdict": "a verdict", "exit_code": "the exit code of the program",
	"severity": "error, warning or info",
	"detail":   "what to do about it", "path": "of the file", "process": "PID, start time, command line and the program that started it",
	"outputs":  "outputs of a step",
	"applied":  "what another tool applied to start a server, if it is not what was applied before",
	"describe": "what a server reports about itself", "plan": "how many benchmarks, cells, repeats, launches, runs, seconds and gates",
}

// infoOf returns the row of a type. An unknown type is stored and not synced.
func infoOf(t Type) Info {
	for _, info := range Types {
		if info.Type == t {
			return info
		}
	}
	return Info{Type: t, Keep: Stored}
}
