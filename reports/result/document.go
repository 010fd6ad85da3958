// Package result is the result document: what was run, what was measured and what was
// decided, as one versioned JSON file (results.json). Every report is rendered from it
// and from nothing else; every importer writes it.
//
// Times are seconds and rates per second, as the metric registry says, unless a field
// says otherwise. Readers ignore unknown fields of the same major version.
//
// What does not apply or is not known is absent from the document; null is never written,
// and neither is a zero or an empty text that means absence. In these types it is the zero
// value where zero is no value of the field, and a nil pointer where it is one. Lists that
// are not optional are there even if they are empty.
//
// The JSON Schema of the document (JSONSchema) is generated from these types and their
// comments, which are therefore written for its readers.
package result

import (
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// Schema names the format of the documents that this code writes: its name, and the major
// and minor version. Changelog lists the versions.
const Schema = "pipeline/result/1.0"

// SimulatedVirtual is the value of Document.Simulated of a session in virtual time: the
// model of the servers alone, so that nothing in it was measured.
const SimulatedVirtual = "virtual"

// Source is the code that was measured.
type Source struct {
	Commit string `json:"commit"`
	// Branch is absent where no branch was checked out.
	Branch string `json:"branch,omitempty"`
	// Repository is the "owner/name" of a GitHub job.
	Repository string `json:"repository,omitempty"`
	// Dirty says that tracked files had changes which the commit does not hold.
	Dirty bool `json:"dirty,omitempty"`
}

// Document is the result of one session: what was run, measured and decided.
type Document struct {
	// Schema names the format and its version, "pipeline/result/1.0".
	Schema string `json:"schema"`
	// Tool is the program that wrote the document, with its version.
	Tool string `json:"tool,omitempty"`
	// RunID identifies the session.
	RunID string `json:"run_id,omitempty"`
	// Source is the code that was checked out in the folder of the pipeline file when the session began; absent where
	// it is not known.
	Source *Source `json:"source,omitempty"`
	// File is the path of the pipeline file as it was given, relative where possible.
	File  string `json:"file,omitempty"`
	Title string `json:"title,omitempty"` // for people, in place of a file
	// Started and Ended bound the session.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Status  Status    `json:"status"`
	// StatusReason says why a run is not complete.
	StatusReason string `json:"status_reason,omitempty"`
	// StoppedBy is why a complete session with a budget took fewer repeats than were planned though
	// comparisons were left: "budget" where the next repeat would have exceeded it, "settled" where
	// every gate had its verdict, "hopeless" where what was left was not likely to be decided.
	StoppedBy StoppedBy `json:"stopped_by,omitempty"`
	// Simulated says by what servers were replaced: "process", "container", or "virtual" for
	// their model alone, in virtual time.
	Simulated string `json:"simulated,omitempty"`
	// TimeScale is how many times faster than its model a simulated server ran.
	TimeScale float64 `json:"time_scale,omitempty" bounds:"0,"`

	// Verdict is the worst over all gates; absent where there are none. Where the session is not
	// complete, no decision, gate or document has the verdict "pass" or "improvement".
	Verdict Verdict `json:"verdict,omitempty"`
	// ExitCode is the exit status of the command: 0, 1 for a regression, 4 for a failure of the
	// infrastructure, 5 where nothing was decided that had to be.
	ExitCode int `json:"exit_code"`

	// Alpha is the error that all gates share.
	Alpha float64 `json:"alpha" bounds:"0,1"`
	// FamilySize is the number of comparisons that p values are adjusted for.
	FamilySize int    `json:"family_size"`
	Seed       uint64 `json:"seed"` // of the schedule and of the workloads
	// RepeatsPlanned and RepeatsDone count launches of every side.
	RepeatsPlanned int `json:"repeats_planned"`
	RepeatsDone    int `json:"repeats_done"`
	// Looks are the numbers of repeats after which the gates were planned to be judged, at
	// the levels that hold alpha over all of them; empty or one for a single judgement at
	// the end. LooksTaken are those that were taken.
	Looks      []int `json:"looks,omitempty"`
	LooksTaken []int `json:"looks_taken,omitempty"`
	// LooksBefore are the looks as they were planned before repeats were added to the session,
	// one list for each time.
	LooksBefore [][]int `json:"looks_before,omitempty"`
	// Attempt counts the tries of the same change from 1, where earlier ones are not part
	// of this one: a pass then needs a smaller alpha.
	Attempt int `json:"attempt,omitempty"`

	// Variance is the calibration whose spreads had a part in decisions, absent without one.
	Variance *Variance `json:"variance,omitempty"`

	// Measures describe the metrics that the file declares, and those whose unit it decides.
	Measures Measures `json:"measures,omitempty"`
	// NotSelected lists what of the gates was left out on purpose and not judged.
	NotSelected []NotSelected `json:"not_selected,omitempty"`
	// Sides say how the sides of paired baselines differ.
	Sides []Sides `json:"sides,omitempty"`
	// Pairings say how the launches of imported results were paired.
	Pairings []Pairing `json:"pairings,omitempty"`

	// Machine is the fingerprint of the machine. "gpu", "gpus" and "cpu" are the model of its
	// GPUs, their number and the model of its CPU; "load_generator.node" names the nodes that load
	// came from, where it was not the machine on which the command ran.
	Machine map[string]string `json:"machine,omitempty"`
	// Targets are what was launched and measured.
	Targets    []Target    `json:"targets"`
	Benchmarks []Benchmark `json:"benchmarks"` // with all runs
	Launches   []Launch    `json:"launches"`   // in the order in which they were made
	Gates      []Gate      `json:"gates"`      // with what was decided
	// Answers of the heads against those of their bases.
	Answers []Answers `json:"answers,omitempty"`
	// Requests of the heads against those of their bases, where the program sent them itself.
	Requests []ComparedRequests `json:"requests,omitempty"`
	// Evaluations of the heads against those of their bases.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Images that processes were started from, as they were got before the first launch.
	Images []Image `json:"images,omitempty"`
	// Machines that repeats took in turn; absent where all had the same.
	Machines *Machines `json:"machines,omitempty"`
	// Price is what machines cost, and Bill what the session held them for; the bill is absent
	// where nothing was launched, or servers were replaced by simulated processes.
	Price *Price `json:"price,omitempty"`
	Bill  *Bill  `json:"bill,omitempty"`
	// Profile of the clearest regression, where the file asks for one.
	Profile  *Profile `json:"profile,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`    // that came before the launches
	Warnings []string `json:"warnings,omitempty"` // in sentences
}

// Variance is a calibration that knows how much pairs spread.
type Variance struct {
	Calibration string    `json:"calibration"` // id of the record
	Time        time.Time `json:"time"`        // when it was made
	// Within is how many times as large as then the spread may be today, for the error rates to hold.
	Within float64 `json:"within" bounds:"1,10"`
}

// KnownSpread is what a calibration says of the spread of a decision's pairs. It counts as Weight
// degrees of freedom, beside the n − 1 of the pairs.
type KnownSpread struct {
	SD     float64 `json:"sd"` // on the scale of the test
	DF     float64 `json:"df"` // that it is known with
	Weight float64 `json:"weight"`
	// Contradicted is whether the pairs spread by more than it allows: what they alone show is then
	// used wherever it is stricter.
	Contradicted bool `json:"contradicted,omitempty"`
}

// NotSelected is a gate of which comparisons were left out on purpose.
type NotSelected struct {
	Gate string `json:"gate"` // address
	// Comparisons were left out, of so many.
	Comparisons int `json:"comparisons"`
	Of          int `json:"of"`
}

// Pairing is which launches of two sides belong together where their results were imported, since
// no plan pairs those.
type Pairing struct {
	Benchmark string `json:"benchmark"` // address
	Axis      string `json:"axis"`      // that is compared, with the values of both sides
	Base      string `json:"base"`
	Head      string `json:"head"`
	// Rule is "name", "time", "number" or "order", and How says it for people.
	Rule string `json:"rule"`
	How  string `json:"how"`
	// Pairs of Launches, the number of the longer side. Unpaired names those without a
	// partner, with their side.
	Pairs    int      `json:"pairs"`
	Launches int      `json:"launches"`
	Unpaired []string `json:"unpaired,omitempty"`
	// Order in which both sides were measured, absent where the results have no times.
	Order Order `json:"order,omitempty"`
	// Problem is why nothing could be paired.
	Problem string `json:"problem,omitempty"`
}

// Order of measurement of two sides.
type Order string

// The orders that are known.
const (
	OrderAlternated    Order = "alternated"
	OrderNotAlternated Order = "not alternated"
)

// The keys of Document.Machine that name a machine in a heading.
const (
	MachineGPU  = "gpu"  // model, "NVIDIA H100 80GB HBM3"
	MachineGPUs = "gpus" // number of them
	MachineCPU  = "cpu"  // model
	// MachineLoad names the nodes that load came from, where it was not the machine on which
	// the command ran.
	MachineLoad = "load_generator.node"
)

// Range is a place in a pipeline file. Lines and columns count from 1.
type Range struct {
	File string `json:"file"` // path
	Line int    `json:"line"` // from 1
	Col  int    `json:"col"`  // from 1
	// EndLine of the whole block.
	EndLine int `json:"end_line,omitempty"`
}

// Target is what was launched and measured.
type Target struct {
	Addr   string `json:"addr"`             // address in the file, "server.vllm.sut[\"base\"]"
	Engine string `json:"engine,omitempty"` // "vllm", "sglang", …
	// Describe holds what the server said of itself: version, resolved arguments.
	Describe map[string]string `json:"describe,omitempty"`
	Model    string            `json:"model,omitempty"` // name or path
	// GPUs is how many it holds while it is launched, all its servers together; absent where the file
	// does not say.
	GPUs int `json:"gpus,omitempty"`
	// Answering is how many servers of a deployment are not launched, since they answer already: their
	// GPUs are not among GPUs, and not known.
	Answering int `json:"answering,omitempty" bounds:"0,"`
	// Machines that its servers are placed on, absent where it is one.
	Machines int      `json:"machines,omitempty"`
	Argv     []string `json:"argv,omitempty"` // command line
	Range    Range    `json:"range,omitzero"` // in the file
}

// Version is that of the target's engine, as its servers stated it; those of the members of a
// deployment where they differ, "" where it is not known.
func (t Target) Version() string {
	var all []string
	for key, value := range t.Describe {
		if (key == "version" || strings.HasSuffix(key, "/version")) && value != "" {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// Cache is a folder or volume that a server keeps from launch to launch.
type Cache struct {
	Name string `json:"name"` // of the folder or volume
	At   string `json:"at"`   // path in the container, or variable that names it
	// Before the launch and After it; absent where nothing can be seen of it: volumes, and other machines.
	Before *CacheState `json:"before,omitempty"`
	After  *CacheState `json:"after,omitempty"`
}

// CacheState is what is in a cache.
type CacheState struct {
	Files int `json:"files" bounds:"0,"`
	Bytes int `json:"bytes" bounds:"0,"`
	// Digest of the names and sizes of the files: two states with the same are alike.
	Digest string `json:"digest"`
}

// Image is one that processes were started from. A run that was resumed has looked for it more than once.
type Image struct {
	Image string `json:"image"`           // as the file names it
	For   string `json:"for"`             // the first process that needs it
	Nodes string `json:"nodes,omitempty"` // of the machine, where there are several
	// Seconds until it was there: a pull, or hardly anything where it was there before.
	Seconds float64 `json:"seconds" bounds:"0,"`
}

// Launch is one start of a target.
type Launch struct {
	ID string `json:"id"` // "r1-server.vllm.sut[\"base\"]", unique in the document
	// Name of an imported launch: its file, or what its results call it.
	Name    string `json:"name,omitempty"`
	Repeat  int    `json:"repeat"`            // from 1
	Target  string `json:"target,omitempty"`  // address
	Attempt int    `json:"attempt,omitempty"` // from 1, where a start was tried again
	// Startup is the time from the start until the target was ready, in seconds.
	Startup float64 `json:"startup_s,omitempty" bounds:"0,"`
	// Held is the time from the start until all of its processes had ended, in seconds. Of a launch
	// that stayed loaded beside others it is the time in which it had its turn.
	Held float64 `json:"held_s,omitempty" bounds:"0,"`
	// Caches that the servers keep from launch to launch.
	Caches []Cache `json:"caches,omitempty"`
	// Filling is whether the launch filled its caches or brought them up to date: the first of a target on its
	// machines, and each that found one emptied. Its start-up time is no value of a metric.
	Filling bool `json:"filling,omitempty"`
	// Sleep is absent where the launch was never put to sleep.
	Sleep *Sleep `json:"sleep,omitempty"`
	Log   string `json:"log,omitempty"` // path below the run directory
	// States that the start went through, in order.
	States []State `json:"states,omitempty"`
	// Figures of the start as the engine reported them, in the units of their names
	// ("kv_cache_tokens", "model_load_seconds").
	Figures map[string]float64 `json:"figures,omitempty"`
	// Members of a deployment, in the order of their start; empty for a single server.
	Members []Member `json:"members,omitempty"`
	// Failure is set when the server did not become ready or died.
	Failure *Failure `json:"failure,omitempty"`
}

// Sleep of a launch that stayed loaded while others were measured.
type Sleep struct {
	// Times that it was put to sleep, and was woken again.
	Times int `json:"times" bounds:"1,"`
	// Falling asleep and Waking took this many seconds in all.
	Falling float64 `json:"falling_s" bounds:"0,"`
	Waking  float64 `json:"waking_s" bounds:"0,"`
	// Bytes of GPU memory that it held asleep, 0 where that is not known.
	Bytes float64 `json:"bytes,omitempty" bounds:"0,"`
}

// State of a starting server.
type State struct {
	Name string  `json:"name"` // of the phase that began
	At   float64 `json:"at_s"` // since the start, seconds
}

// Member is one process of a deployment's launch: a server, a service or the router.
type Member struct {
	Name     string             `json:"name"`                // of its block
	Role     string             `json:"role"`                // "producer", "consumer", "both", "service", "router", "server", "node"
	Startup  float64            `json:"startup_s,omitempty"` // start to ready, seconds
	Log      string             `json:"log,omitempty"`       // path below the run directory
	States   []State            `json:"states,omitempty"`    // as of a launch
	Figures  map[string]float64 `json:"figures,omitempty"`   // as of a launch
	Describe map[string]string  `json:"describe,omitempty"`  // as of a target
}

// What a router adds to the latencies of a run, in Run.Server below the router's name
// ("router/added_per_chunk_p99_seconds"): a delay and its quantile.
const (
	AddedPerChunk  = "added_per_chunk"  // from a chunk's arrival until it is written to the client
	AddedToRequest = "added_to_request" // from the start of a request until it leaves for a server
	AddedHandover  = "added_handover"   // from prefill's answer until decode is asked

	AddedP50 = "_p50_seconds"
	AddedP99 = "_p99_seconds"
)

// OnePiece is, in Run.Audit, how many requests got several tokens at one time. They have no time
// between tokens; where they are more than one in ten, the run has none.
const OnePiece = "one_piece"

// SimulatedLate is, in Run.Server, by how much a simulated server fell behind its model at
// p99 of all tokens, in model time.
const SimulatedLate = "simulated_late_p99_seconds"

// The roles of members that have no part in a KV transfer; those that have are steps.Role….
const (
	RoleServer  = "server"
	RoleService = "service"
	RoleRouter  = "router"
	// RoleNode is a process of a server that is spread over nodes, beside the first one,
	// which answers for all.
	RoleNode = "node"
)

// Failure of a server or a step.
type Failure struct {
	Phase    string   `json:"phase"`              // "start", "ready", "run", "stop", "step"
	Class    string   `json:"class"`              // "oom", "port_in_use", …
	Evidence string   `json:"evidence,omitempty"` // the line that shows it
	Exit     string   `json:"exit,omitempty"`     // exit status or signal
	LogTail  []string `json:"log_tail,omitempty"` // last lines
	Range    Range    `json:"range,omitzero"`     // in the file
}

// Benchmark and its cells.
type Benchmark struct {
	Addr        string   `json:"addr"`                  // address in the file
	Description string   `json:"description,omitempty"` // of the file
	Axes        []string `json:"axes"`                  // in source order
	Range       Range    `json:"range,omitzero"`        // in the file
	Cells       []Cell   `json:"cells"`                 // of the matrix
}

// Cell is one combination of axis values.
type Cell struct {
	// Hash is the identity: axis values and workload, independent of order and file name.
	Hash   string      `json:"hash"`
	Values []AxisValue `json:"values"`           // in axis order
	Target string      `json:"target,omitempty"` // address
	// Workload in one line for people ("poisson 4/s, 200 requests, random 256→16").
	Workload string `json:"workload,omitempty"`
	// Work is what all runs of the cell were asked to do, and by what: the facts that say
	// whether another cell did the same.
	Work map[string]string `json:"work,omitempty"`
	Runs []Run             `json:"runs"` // in the order in which they were made
	// Summary holds the geometric mean of each metric over valid runs.
	Summary map[string]float64 `json:"summary,omitempty"`
}

// AxisValue is one coordinate, its value as text for people.
type AxisValue struct {
	Name  string `json:"name"`  // of the axis
	Value string `json:"value"` // for people
}

// Run is one pass of a cell inside one launch: the experimental unit.
type Run struct {
	Repeat int `json:"repeat"` // from 1
	// Replaces is the planned repeat that this run measures again, because a run of that
	// repeat was void; absent in a planned repeat. The run counts for that repeat then.
	Replaces int `json:"replaces,omitempty"`
	// Pass counts the runs of the cell in this launch from 1; absent where there is one.
	Pass int `json:"pass,omitempty"`
	// Launch is the id of the launch that was measured.
	Launch string `json:"launch,omitempty"`
	// Nodes of the cluster that the repeat had, or its machine of several: their names with commas between; absent
	// where there is one machine. All sides of a repeat have the same.
	Nodes  string    `json:"nodes,omitempty"`
	Status RunStatus `json:"status"`
	Reason string    `json:"reason,omitempty"` // why it is not ok
	// VoidCause is the kind of cause of a void run; absent otherwise.
	VoidCause VoidCause `json:"void_cause,omitempty"`
	// Duration in seconds; requests sent and failed.
	Duration float64 `json:"duration_s" bounds:"0,"`
	// Between is the time from the last answer of the run before it in the launch to its own beginning, in seconds of the
	// clock: to its warm-up, or where it has none to the time from which its schedule counts.
	Between    float64        `json:"between_s,omitempty" bounds:"0,"`
	Sent       int            `json:"sent"`                 // requests; of a search those of the probes that held
	Failed     int            `json:"failed"`               // of those that were sent
	Failures   map[string]int `json:"failures,omitempty"`   // by class
	Overloaded bool           `json:"overloaded,omitempty"` // more was asked than the server could answer
	// Metrics by id, in the registry's units. A metric without data is absent.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Steps are, of an imported run, those of the last digit that its metrics were printed with, by id.
	Steps map[string]float64 `json:"steps,omitempty"`
	// Scores of an evaluation's questions by id, 0 to 1.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Histograms by metric group, HdrHistogram V2 compressed, base64; microseconds.
	Histograms map[string]string `json:"histograms,omitempty"`
	// Audit of the client: numbers in seconds or as named, and texts.
	Audit map[string]any `json:"audit,omitempty"`
	// Server holds what the engine's counters rose by during the run, by counter; those of a
	// deployment's member have its name before them ("decode/kv_transfer_bytes").
	Server map[string]float64 `json:"server,omitempty"`
	// Series of the run's time, few hundred points each.
	Series []Series `json:"series,omitempty"`
	// Work is, of an imported run, what its load generator was asked to do, as in Cell.Work.
	Work map[string]string `json:"work,omitempty"`
	// Started is, of an imported run, when its measurement began, where the result has it.
	Started time.Time `json:"started,omitzero"`
	// Transport is what is known of the KV transfer; absent where none was declared.
	Transport *Transport `json:"transport,omitempty"`
	// Requests that were measured; absent where another load generator sent them, and in a search.
	Requests *RunRequests `json:"requests,omitempty"`
	// Answers that were collected; absent in a run that measures.
	Answers *RunAnswers `json:"answers,omitempty"`
	// Search is how the run found the load that the target carries; absent in a run at one load.
	Search  *Search `json:"search,omitempty"`
	Records string  `json:"records,omitempty"` // path below the run directory
}

// Series is a figure over the time of a run.
type Series struct {
	Name   string `json:"name"`             // "running", "waiting", "kv_usage", …
	Member string `json:"member,omitempty"` // of a deployment
	// Source is "metrics" for scraped figures, "log" for those of log lines, "client" or "machine".
	Source string    `json:"source"`
	T      []float64 `json:"t"` // seconds since the run's first planned request; may be negative
	V      []float64 `json:"v"` // in the unit of the name; as long as T
}

// Transport is the proof of how KV cache moved during a run.
type Transport struct {
	// Intent is what the file declares: "nccl", "tcp", "rdma" or "nvlink".
	Intent string          `json:"intent,omitempty"`
	Status TransportStatus `json:"status"`
	// Reason in one sentence.
	Reason string `json:"reason"`
	// Evidence lists what was seen, each with its source: a counter, a metric or a log line.
	Evidence []string `json:"evidence,omitempty"`
}

// Gate and what was decided.
type Gate struct {
	Addr        string `json:"addr"`                  // address in the file
	Description string `json:"description,omitempty"` // of the file
	Benchmark   string `json:"benchmark"`             // address
	Baseline    string `json:"baseline,omitempty"`    // address
	// BaselineKind is absent for a gate of limits alone.
	BaselineKind BaselineKind `json:"baseline_kind,omitempty"`
	gates.Claim
	gates.Rule
	Actions

	// Verdict is the worst of its decisions; where an improvement is expected, success rates that
	// pass do not count.
	Verdict   Verdict    `json:"verdict"`
	Range     Range      `json:"range,omitzero"` // in the file
	Decisions []Decision `json:"decisions"`      // one for each comparison
}

// Decision on one comparison.
type Decision struct {
	ID   string       `json:"id"` // unique in the document
	Kind DecisionKind `json:"kind"`
	// Cell is the hash of the head's cell, BaseCell of the one that it was compared with.
	Cell     string `json:"cell,omitempty"`
	BaseCell string `json:"base_cell,omitempty"`
	// Values are the head's coordinates without the compared axis.
	Values []AxisValue `json:"values"`
	// Head and Base are the values of the compared axis ("on", "off").
	Head string `json:"head,omitempty"`
	Base string `json:"base,omitempty"`
	// Metric is the id of the metric, "success.rate" for success.
	Metric string `json:"metric,omitempty"`
	// SuiteCells is the number of cells whose geometric means are compared together. Cell and
	// BaseCell are absent then.
	SuiteCells int    `json:"suite_cells,omitempty"`
	Label      string `json:"label,omitempty"` // of the metric, for people
	Unit       string `json:"unit,omitempty"`  // of the values: "s", "tok/s", "fraction", …
	// Direction says which values are better.
	Direction metric.Direction `json:"direction,omitempty"`
	// Scale is what a change is on: "log" for ratios, "difference" or "proportion" for
	// differences.
	Scale metric.Scale `json:"scale,omitempty"`

	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // in one sentence

	// Refuted is whether an improvement was expected and the interval excludes it: no repeat
	// would change that, unlike where NeedPairs is there.
	Refuted bool `json:"refuted,omitempty"`

	// WithheldBy are the addresses of the gates of answers and evaluations that do not pass, and
	// so keep a decision on speed from being an improvement.
	WithheldBy []string `json:"withheld_by,omitempty"`

	// N is the number of pairs used.
	N int `json:"n"`
	// BaseValue and HeadValue are geometric means over pairs, in Unit; HeadValue is also what a
	// limit is set against.
	BaseValue *float64 `json:"base_value,omitempty"`
	HeadValue *float64 `json:"head_value,omitempty"`
	// BaseBound and HeadBound are there where a capacity is beyond the range that was searched: the
	// value is then an end of the range.
	BaseBound Bound `json:"base_bound,omitempty"`
	HeadBound Bound `json:"head_bound,omitempty"`
	// Change is head/base − 1 (log scale) or head − base (other scales); Lower to Upper is the
	// interval that decides: two one-sided bounds at 1 − alpha each. A bound that is absent
	// beside the other one is infinite.
	Change *float64 `json:"change,omitempty"`
	Lower  *float64 `json:"lower,omitempty"`
	Upper  *float64 `json:"upper,omitempty"`
	// Level is the one-sided error of each bound where it is not the document's alpha (a
	// look of a group-sequential test has its nominal one, a further attempt its share).
	Level float64 `json:"level,omitempty" bounds:"0,1"`
	// Moderated is whether the spread was drawn towards that of the other cells of the metric.
	Moderated bool `json:"moderated,omitempty"`
	// Known is the spread of a calibration that had a part in it, absent without one.
	Known *KnownSpread `json:"known_spread,omitempty"`
	// Look is the number of repeats at the look whose data the decision rests on. Later describes all pairs where more
	// were measured after it: shown, not judged.
	Look  int       `json:"look,omitempty"`
	Later *Estimate `json:"later,omitempty"`
	// HolmLevel is what PHolm is compared with where it is not the share of the gate.
	HolmLevel float64 `json:"holm_level,omitempty" bounds:"0,1"`
	// P one-sided for "worse", PHolm adjusted over the family. Where an improvement was found they are for "better",
	// and PBetter says so. Where one is expected and the verdict is no regression, they are for "better by more than the
	// margin".
	P       *float64      `json:"p,omitempty" bounds:"0,1"`
	PHolm   *float64      `json:"p_holm,omitempty" bounds:"0,1"`
	PBetter bool          `json:"p_better,omitempty"`
	Margin  metric.Margin `json:"margin,omitempty"` // as of the gate
	// Limit is what HeadValue is set against in an assert, and LimitOp how; absent where its
	// condition is no comparison of numbers. A limit on what was not measured has no HeadValue.
	Limit   *float64 `json:"limit,omitempty"`
	LimitOp Operator `json:"limit_op,omitempty"`
	// NeedPairs is the number of repeats that would decide an inconclusive one.
	NeedPairs int `json:"need_pairs,omitempty"`
	// Detectable is the smallest change found with 80 % power at this n and spread.
	Detectable float64  `json:"detectable,omitempty"`
	Warnings   []string `json:"warnings,omitempty"` // in sentences
	// Pairs behind the decision, for those who want to check it.
	Pairs []Pair `json:"pairs,omitempty"`
	// Infrastructure is whether the base fails, too: exit 4.
	Infrastructure bool `json:"infrastructure,omitempty"`
	// Sessions are the values of the stored baseline, oldest first, and Earlier the requests
	// of each of its sessions, in a decision on success rates.
	Sessions []float64  `json:"sessions,omitempty"`
	Earlier  []Requests `json:"earlier,omitempty"`
	// Descriptive decisions were never to be decided, for Reason. InvalidFrom is the repeat
	// from which on something was seen that must not be decided on.
	Descriptive bool `json:"descriptive,omitempty"`
	InvalidFrom int  `json:"invalid_from,omitempty"`
}

// Requests that were sent, and those of them that failed.
type Requests struct {
	Sent   int `json:"sent"`   // in all
	Failed int `json:"failed"` // of those that were sent
}

// Estimate describes a comparison without deciding anything.
type Estimate struct {
	N         int     `json:"n"`          // pairs
	BaseValue float64 `json:"base_value"` // geometric mean
	HeadValue float64 `json:"head_value"` // geometric mean
	Change    float64 `json:"change"`     // as of a decision
	// A bound that is absent is infinite.
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`
}

// Pair is one repeat's values.
type Pair struct {
	Repeat int     `json:"repeat"` // that it is of
	Base   float64 `json:"base"`   // value
	Head   float64 `json:"head"`   // value
	// Later pairs came after the look that decided: shown, not judged.
	Later bool `json:"later,omitempty"`
	// Nodes that the repeat had, see Run.Nodes.
	Nodes string `json:"nodes,omitempty"`
}

// Step is a one-shot action that was carried out (or skipped).
type Step struct {
	Addr     string     `json:"addr"` // address in the file
	Status   StepStatus `json:"status"`
	Duration float64    `json:"duration_s" bounds:"0,"` // in seconds
	Log      string     `json:"log,omitempty"`          // path below the run directory
	Failure  *Failure   `json:"failure,omitempty"`      // why it failed
}
