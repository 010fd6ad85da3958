// Package result is the result document: what was run, measured and decided, as one versioned JSON
// file (results.json). Every report is rendered only from it, and every importer writes it.
//
// Times are seconds and rates per second, as in the metric registry, unless a field says otherwise.
// Readers ignore unknown fields of the same major version.
//
// Values that do not apply or are unknown are absent from the document. It never contains null, nor
// a zero or an empty text that means absence. In these types absence is the zero value if zero is
// not a valid value of the field, and otherwise a nil pointer. Lists that are not optional are
// present even if empty.
//
// The JSON Schema of the document (JSONSchema) is generated from these types and their comments, so
// comments are written for readers of the document.
package result

import (
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// Schema names the format of the documents that this code writes: its name, major and minor
// version. See Changelog for the versions.
const Schema = "pipeline/result/1.0"

// SimulatedVirtual is the value of Document.Simulated for a session in virtual time: only a model
// of the servers, so that nothing was measured.
const SimulatedVirtual = "virtual"

// Virtual reports whether the session took place in virtual time, without processes, connections and machines.
func (d *Document) Virtual() bool { return d.Simulated == SimulatedVirtual }

// Source is the measured code.
type Source struct {
	Commit string `json:"commit"`
	// Branch is absent if no branch was checked out.
	Branch string `json:"branch,omitempty"`
	// Repository is the "owner/name" of a GitHub job.
	Repository string `json:"repository,omitempty"`
	// Dirty is true if tracked files had uncommitted changes.
	Dirty bool `json:"dirty,omitempty"`
}

// Document is the result of one session: what was run, measured and decided.
type Document struct {
	// Schema is the format and its version, "pipeline/result/1.0".
	Schema string `json:"schema"`
	// Tool is the program that wrote the document, with its version.
	Tool string `json:"tool,omitempty"`
	// RunID identifies the session.
	RunID string `json:"run_id,omitempty"`
	// Source is the code that was checked out in the folder of the pipeline file when the session
	// began; absent if unknown.
	Source *Source `json:"source,omitempty"`
	// File is the path of the pipeline file as given, relative if possible.
	File  string `json:"file,omitempty"`
	Title string `json:"title,omitempty"` // for people, if there is no file
	// Started and Ended are the times of the session.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Status  Status    `json:"status"`
	// StatusReason is why a run is not complete.
	StatusReason string `json:"status_reason,omitempty"`
	// StoppedBy is why a complete session took fewer repeats than planned although comparisons were
	// left: "budget" if the next repeat would have exceeded it, "settled" if every gate had its
	// verdict, "hopeless" if the rest was unlikely to be decided.
	StoppedBy StoppedBy `json:"stopped_by,omitempty"`
	// Simulated is what replaced the servers: "process", "container", or "virtual" for their model
	// only, in virtual time.
	Simulated string `json:"simulated,omitempty"`
	// TimeScale is how many times faster than its model a simulated server ran.
	TimeScale float64 `json:"time_scale,omitempty" bounds:"0,"`

	// Verdict is the worst over all gates; absent if there are none. If the session is not
	// complete, no decision, gate or document has the verdict "pass" or "improvement".
	Verdict Verdict `json:"verdict,omitempty"`
	// ExitCode is the exit status of the command: 0, 1 for a regression, 4 for a failure of the
	// infrastructure, 5 if a required decision is missing.
	ExitCode int `json:"exit_code"`

	// Alpha is the error rate that all gates share.
	Alpha float64 `json:"alpha" bounds:"0,1"`
	// FamilySize is the number of comparisons that p values are adjusted for.
	FamilySize int    `json:"family_size"`
	Seed       uint64 `json:"seed"` // seed of the schedule and the workloads
	// RepeatsPlanned and RepeatsDone count launches of every side.
	RepeatsPlanned int `json:"repeats_planned"`
	RepeatsDone    int `json:"repeats_done"`
	// Looks are the planned numbers of repeats after which the gates are judged, at levels that
	// keep alpha over all looks; empty or one for a single judgement at the end. LooksTaken are the
	// looks that were taken.
	Looks      []int `json:"looks,omitempty"`
	LooksTaken []int `json:"looks_taken,omitempty"`
	// LooksBefore holds the planned looks before each extension of the session.
	LooksBefore [][]int `json:"looks_before,omitempty"`
	// Attempt counts the attempts at the same change from 1, if earlier ones are not part of this
	// one. A pass then needs a smaller alpha.
	Attempt int `json:"attempt,omitempty"`

	// Variance is the calibration whose spreads were used in decisions, absent without one.
	Variance *Variance `json:"variance,omitempty"`

	// Measures describe the metrics that the file declares, and those whose unit the file sets.
	Measures Measures `json:"measures,omitempty"`
	// NotSelected lists the parts of gates that were deselected and not judged.
	NotSelected []NotSelected `json:"not_selected,omitempty"`
	// Sides describe the differences between the sides of paired baselines.
	Sides []Sides `json:"sides,omitempty"`
	// Pairings describe how the launches of imported results were paired.
	Pairings []Pairing `json:"pairings,omitempty"`

	// Machine is the fingerprint of the machine. "gpu", "gpus" and "cpu" are the model of its GPUs,
	// number of GPUs and the model of its CPU. "load_generator.node" names the nodes of the load
	// generator, if it did not run on the machine of the command.
	Machine map[string]string `json:"machine,omitempty"`
	// Targets are the servers that were launched and measured.
	Targets    []Target    `json:"targets"`
	Benchmarks []Benchmark `json:"benchmarks"` // with all runs
	Launches   []Launch    `json:"launches"`   // in order of time
	Gates      []Gate      `json:"gates"`      // with their decisions
	// Answers of the heads, compared with those of their bases.
	Answers []Answers `json:"answers,omitempty"`
	// Requests of the heads, compared with those of their bases, if the program sent them itself.
	Requests []ComparedRequests `json:"requests,omitempty"`
	// Evaluations of the heads, compared with those of their bases.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Images of the processes, as obtained before the first launch.
	Images []Image `json:"images,omitempty"`
	// Machines that the repeats alternated between; absent if all used the same.
	Machines *Machines `json:"machines,omitempty"`
	// Price is the price of machines, and Bill the machine time of the session. The bill is absent
	// if nothing was launched, or if servers were replaced by simulated processes.
	Price *Price `json:"price,omitempty"`
	Bill  *Bill  `json:"bill,omitempty"`
	// Profile of the clearest regression, if the file asks for one.
	Profile  *Profile `json:"profile,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`    // before the launches
	Warnings []string `json:"warnings,omitempty"` // as sentences
}

// Variance is a calibration with known spreads of pairs.
type Variance struct {
	Calibration string    `json:"calibration"` // id of the record
	Time        time.Time `json:"time"`        // when it was made
	// Machine is the machine on which it was made. The pairs must be from one like it.
	Machine map[string]string `json:"machine,omitempty"`
	// Within is the largest ratio of today's spread to the calibrated one for which the error rates
	// hold.
	Within float64 `json:"within" bounds:"1,10"`
}

// KnownSpread is a calibration's spread of a decision's pairs. It counts as Weight degrees of
// freedom, in addition to the n − 1 of the pairs.
type KnownSpread struct {
	SD     float64 `json:"sd"` // on the scale of the test
	DF     float64 `json:"df"` // degrees of freedom of SD
	Weight float64 `json:"weight"`
	// Contradicted is true if the pairs spread by more than it allows. The result of the pairs
	// alone then counts wherever it is stricter.
	Contradicted bool `json:"contradicted,omitempty"`
}

// NotSelected is a gate with deselected comparisons.
type NotSelected struct {
	Gate string `json:"gate"` // address
	// Comparisons is the number of deselected comparisons, Of the total.
	Comparisons int `json:"comparisons"`
	Of          int `json:"of"`
}

// Pairing describes which launches of two sides belong together in imported results, which no plan
// pairs.
type Pairing struct {
	Benchmark string `json:"benchmark"` // address
	Axis      string `json:"axis"`      // compared axis; Base and Head are its values
	Base      string `json:"base"`
	Head      string `json:"head"`
	// Rule is "name", "time", "number" or "order"; How describes it for people.
	Rule string `json:"rule"`
	How  string `json:"how"`
	// Pairs is the number of pairs, Launches that of launches on the longer side. Unpaired names
	// launches without a partner, with their side.
	Pairs    int      `json:"pairs"`
	Launches int      `json:"launches"`
	Unpaired []string `json:"unpaired,omitempty"`
	// Order in which both sides were measured, absent if the results have no times.
	Order Order `json:"order,omitempty"`
	// Problem is why nothing could be paired.
	Problem string `json:"problem,omitempty"`
}

// Order is the order in which two sides were measured.
type Order string

// The known orders.
const (
	OrderAlternated    Order = "alternated"
	OrderNotAlternated Order = "not alternated"
)

// The keys of Document.Machine that name a machine in a heading.
const (
	MachineGPU  = "gpu"  // model, "NVIDIA H100 80GB HBM3"
	MachineGPUs = "gpus" // number of GPUs
	MachineCPU  = "cpu"  // model
	// MachineLoad names the nodes of the load generator, if it did not run on the machine of the
	// command.
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
	// Describe holds the server's description of itself: version, resolved arguments.
	Describe map[string]string `json:"describe,omitempty"`
	Model    string            `json:"model,omitempty"` // name or path
	// GPUs is the number of GPUs that all its servers hold together while launched; absent if the
	// file does not set it.
	GPUs int `json:"gpus,omitempty"`
	// Answering is the number of servers of a deployment that were running already and are not
	// launched. Their GPUs are unknown and not counted in GPUs.
	Answering int `json:"answering,omitempty" bounds:"0,"`
	// Machines that its servers are placed on, absent if there is one.
	Machines int `json:"machines,omitempty"`
	// Connector moves KV cache between its servers; absent if the file declares no transfer. Every
	// valid run then has evidence of the transport.
	Connector string `json:"connector,omitempty"`
	// Work holds the arguments and variables of its servers that decide their work, such as the
	// revision of the model, in one normal form. The names of those of a deployment begin with the
	// server's.
	Work map[string]string `json:"work,omitempty"`
	Argv []string          `json:"argv,omitempty"` // command line
	// Applied holds what another tool applied at the last launch; absent if unknown.
	Applied *Applied `json:"applied,omitempty"`
	Range   Range    `json:"range,omitzero"` // in the file
}

// Target returns the target with an address, an empty one if there is none.
func (d *Document) Target(addr string) Target {
	for _, t := range d.Targets {
		if t.Addr == addr {
			return t
		}
	}
	return Target{}
}

// Version returns the version of the target's engine, as its servers reported it, "" if unknown. If
// the members of a deployment differ, it lists all.
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

// Cache is a folder or volume that a server keeps between launches.
type Cache struct {
	Name string `json:"name"` // of the folder or volume
	At   string `json:"at"`   // path in the container, or variable that names it
	// Before is the state before the launch, After the one after it; absent if it cannot be read,
	// as for volumes and other machines.
	Before *CacheState `json:"before,omitempty"`
	After  *CacheState `json:"after,omitempty"`
}

// CacheState describes the content of a cache.
type CacheState struct {
	Files int `json:"files" bounds:"0,"`
	Bytes int `json:"bytes" bounds:"0,"`
	// Digest of the names and sizes of the files. Equal digests mean equal states.
	Digest string `json:"digest"`
}

// Image is an image of processes. A resumed run may list it more than once.
type Image struct {
	Image string `json:"image"`           // as in the file
	For   string `json:"for"`             // the first process that needs it
	Nodes string `json:"nodes,omitempty"` // of the machine, if there are several
	// Seconds until it was present: the time of a pull, or almost 0 if it was present already.
	Seconds float64 `json:"seconds" bounds:"0,"`
}

// Launch is one start of a target.
type Launch struct {
	ID string `json:"id"` // "r1-server.vllm.sut[\"base\"]", unique in the document
	// Name of an imported launch: its file, or its name in the results.
	Name    string `json:"name,omitempty"`
	Repeat  int    `json:"repeat"`            // from 1
	Target  string `json:"target,omitempty"`  // address
	Attempt int    `json:"attempt,omitempty"` // from 1, if a start was retried
	// Startup is the time from the start until the target was ready, in seconds.
	Startup float64 `json:"startup_s,omitempty" bounds:"0,"`
	// Held is the time from the start until all of its processes had ended, in seconds. For a
	// launch that stayed loaded beside others it is the time in which it was active.
	Held float64 `json:"held_s,omitempty" bounds:"0,"`
	// Caches that the servers keep between launches.
	Caches []Cache `json:"caches,omitempty"`
	// Filling is true if the launch filled or updated its caches: the first of a target on its
	// machines, and each that found an emptied one. Its start-up time is not used as a value of a
	// metric.
	Filling bool `json:"filling,omitempty"`
	// Sleep is absent if the launch was never put to sleep.
	Sleep *Sleep `json:"sleep,omitempty"`
	Log   string `json:"log,omitempty"` // path below the run directory
	// States of the start, in order.
	States []State `json:"states,omitempty"`
	// Figures that the engine reported at the start, in the units of their names
	// ("kv_cache_tokens", "model_load_seconds").
	Figures map[string]float64 `json:"figures,omitempty"`
	// Members of a deployment, in the order of their start; empty for a single server.
	Members []Member `json:"members,omitempty"`
	// Failure is set if the server did not become ready or died.
	Failure *Failure `json:"failure,omitempty"`
}

// Sleep describes a launch that stayed loaded while others were measured.
type Sleep struct {
	// Times is how often it was put to sleep and woken.
	Times int `json:"times" bounds:"1,"`
	// Falling and Waking are the total times of falling asleep and of waking, in seconds.
	Falling float64 `json:"falling_s" bounds:"0,"`
	Waking  float64 `json:"waking_s" bounds:"0,"`
	// Bytes of GPU memory that it held asleep, 0 if unknown.
	Bytes float64 `json:"bytes,omitempty" bounds:"0,"`
}

// State is a phase of a starting server.
type State struct {
	Name string  `json:"name"` // phase that began
	At   float64 `json:"at_s"` // seconds since the start
}

// Member is one process of a deployment's launch: a server, a service or the router.
type Member struct {
	Name     string             `json:"name"`                // of its block
	Role     string             `json:"role"`                // "producer", "consumer", "both", "service", "router", "server", "node"
	Startup  float64            `json:"startup_s,omitempty"` // start to ready, seconds
	Log      string             `json:"log,omitempty"`       // path below the run directory
	States   []State            `json:"states,omitempty"`    // as in a launch
	Figures  map[string]float64 `json:"figures,omitempty"`   // as in a launch
	Describe map[string]string  `json:"describe,omitempty"`  // as in a target
}

// Latencies that a router adds to a run, in Run.Server below the router's name
// ("router/added_per_chunk_p99_seconds"): a delay and its quantile.
const (
	AddedPerChunk  = "added_per_chunk"  // from the arrival of a chunk until it is written to the client
	AddedToRequest = "added_to_request" // from the start of a request until it is sent to a server
	AddedHandover  = "added_handover"   // from the answer of prefill until the request to decode

	AddedP50 = "_p50_seconds"
	AddedP99 = "_p99_seconds"
)

// OnePiece is, in Run.Audit, the number of requests that got several tokens at one time. They have
// no time between tokens. If they are more than one in ten, the run has none.
const OnePiece = "one_piece"

// SimulatedLate is, in Run.Server, the delay of a simulated server behind its model at p99 of all
// tokens, in model time.
const SimulatedLate = "simulated_late_p99_seconds"

// Roles of members without a part in a KV transfer. The others are steps.Role….
const (
	RoleServer  = "server"
	RoleService = "service"
	RoleRouter  = "router"
	// RoleNode is a process of a server that spans several nodes, other than the first one, which
	// answers for all.
	RoleNode = "node"
)

// Failure is a failure of a server or a step.
type Failure struct {
	Phase    string   `json:"phase"`              // "start", "ready", "run", "stop", "step"
	Class    string   `json:"class"`              // "oom", "port_in_use", …
	Evidence string   `json:"evidence,omitempty"` // the log line that shows it
	Exit     string   `json:"exit,omitempty"`     // exit status or signal
	LogTail  []string `json:"log_tail,omitempty"` // last lines
	Range    Range    `json:"range,omitzero"`     // in the file
}

// Benchmark is a benchmark with its cells.
type Benchmark struct {
	Addr        string   `json:"addr"`                  // address in the file
	Description string   `json:"description,omitempty"` // from the file
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
	// Work holds the facts on the work that all runs of the cell were asked to do, and on its load
	// generator. Cells with equal facts did the same work.
	Work map[string]string `json:"work,omitempty"`
	Runs []Run             `json:"runs"` // in order of time
	// Summary holds the geometric mean of each metric over valid runs.
	Summary map[string]float64 `json:"summary,omitempty"`
}

// AxisValue is one coordinate, with its value as text for people.
type AxisValue struct {
	Name  string `json:"name"`  // of the axis
	Value string `json:"value"` // for people
}

// Run is one pass of a cell inside one launch: the experimental unit.
type Run struct {
	Repeat int `json:"repeat"` // from 1
	// Replaces is the planned repeat that this run measures again, because a run of that repeat was
	// void; absent in a planned repeat. The run then counts for that repeat.
	Replaces int `json:"replaces,omitempty"`
	// Pass counts the runs of the cell in this launch from 1; absent if there is one.
	Pass int `json:"pass,omitempty"`
	// Launch is the id of the measured launch.
	Launch string `json:"launch,omitempty"`
	// Nodes are the cluster nodes of the repeat, or its machine if there are several, separated by
	// commas; absent for one machine. All sides of a repeat have the same.
	Nodes  string    `json:"nodes,omitempty"`
	Status RunStatus `json:"status"`
	Reason string    `json:"reason,omitempty"` // why it is not ok
	// VoidCause is the kind of cause of a void run; absent otherwise.
	VoidCause VoidCause `json:"void_cause,omitempty"`
	// Duration in seconds; requests sent and failed.
	Duration float64 `json:"duration_s" bounds:"0,"`
	// At is the time from the start of the session to that of the run, in seconds; absent in an imported run.
	At float64 `json:"at_s,omitempty"`
	// Between is the time from the last answer of the previous run in the launch to the beginning
	// of this one, in seconds of the clock: to its warm-up, or without one to the start of its
	// schedule.
	Between    float64        `json:"between_s,omitempty" bounds:"0,"`
	Sent       int            `json:"sent"`                 // requests; in a search, those of the probes that held
	Failed     int            `json:"failed"`               // failed requests
	Failures   map[string]int `json:"failures,omitempty"`   // by class
	Overloaded bool           `json:"overloaded,omitempty"` // more load than the server could answer
	// Metrics by id, in the registry's units. A metric without data is absent.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Steps are, for an imported run, the steps of the last printed digit of its metrics, by id.
	Steps map[string]float64 `json:"steps,omitempty"`
	// Scores of an evaluation's questions by id, 0 to 1.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Families of the questions by id, such as the passage that several are about; absent if the
	// questions have none.
	Families map[string]string `json:"families,omitempty"`
	// Histograms by metric group, HdrHistogram V2 compressed, base64; microseconds.
	Histograms map[string]string `json:"histograms,omitempty"`
	// Audit of the client: numbers in seconds or as named, and texts.
	Audit map[string]any `json:"audit,omitempty"`
	// Server holds the increase of the engine's counters during the run, by counter. Counters of a
	// deployment's member are prefixed with its name ("decode/kv_transfer_bytes").
	Server map[string]float64 `json:"server,omitempty"`
	// Series over the time of the run, up to a few hundred points each.
	Series []Series `json:"series,omitempty"`
	// Work is, for an imported run, the work that its load generator was asked to do, as in
	// Cell.Work.
	Work map[string]string `json:"work,omitempty"`
	// Started is, for an imported run, when its measurement began, if the result contains it.
	Started time.Time `json:"started,omitzero"`
	// Transport is the evidence on the KV transfer; absent if none was declared.
	Transport *Transport `json:"transport,omitempty"`
	// Requests that were measured; absent if another load generator sent them, and in a search.
	Requests *RunRequests `json:"requests,omitempty"`
	// Answers that were collected; absent in a run that measures.
	Answers *RunAnswers `json:"answers,omitempty"`
	// Search describes how the run found the highest load that the target can serve; absent in a
	// run at one load.
	Search  *Search `json:"search,omitempty"`
	Records string  `json:"records,omitempty"` // path below the run directory
}

// Series is a figure over the time of a run.
type Series struct {
	Name   string `json:"name"`             // "running", "waiting", "kv_usage", …
	Member string `json:"member,omitempty"` // of a deployment
	// Source is "metrics" for scraped figures, "log" for figures from log lines, "client" or
	// "machine".
	Source string    `json:"source"`
	T      []float64 `json:"t"` // seconds since the run's first planned request; may be negative
	V      []float64 `json:"v"` // in the unit of the name; same length as T
}

// Transport is the evidence of how KV cache moved during a run.
type Transport struct {
	// Intent is the transport in the file: "nccl", "tcp", "rdma" or "nvlink".
	Intent string          `json:"intent,omitempty"`
	Status TransportStatus `json:"status"`
	// Reason in one sentence.
	Reason string `json:"reason"`
	// Evidence lists the observations, each with its source: a counter, a metric or a log line.
	Evidence []string `json:"evidence,omitempty"`
}

// Gate is a gate with its decisions.
type Gate struct {
	Addr        string `json:"addr"`                  // address in the file
	Description string `json:"description,omitempty"` // from the file
	Benchmark   string `json:"benchmark"`             // address
	Baseline    string `json:"baseline,omitempty"`    // address
	// BaselineKind is absent for a gate that only has limits.
	BaselineKind BaselineKind `json:"baseline_kind,omitempty"`
	gates.Terms
	Actions
	// Differ lists what the baseline lets the sides differ in besides the compared axis.
	Differ []string `json:"differ,omitempty"`
	// OnUnprovenTransport is the action for a KV transfer whose transport is not proven. If absent,
	// it warns.
	OnUnprovenTransport Action `json:"on_unproven_transport,omitempty"`

	// Verdict is the worst of its decisions. If an improvement is expected, passing success rates
	// do not count.
	Verdict   Verdict    `json:"verdict"`
	Range     Range      `json:"range,omitzero"` // in the file
	Decisions []Decision `json:"decisions"`      // one for each comparison
}

// Decision is the verdict on one comparison.
type Decision struct {
	ID   string       `json:"id"` // unique in the document
	Kind DecisionKind `json:"kind"`
	// Cell is the hash of the head's cell, BaseCell that of the cell that it was compared with.
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
	// BaseCell are then absent.
	SuiteCells int    `json:"suite_cells,omitempty"`
	Label      string `json:"label,omitempty"` // name of the metric for people
	Unit       string `json:"unit,omitempty"`  // of the values: "s", "tok/s", "fraction", …
	// Direction tells which values are better.
	Direction metric.Direction `json:"direction,omitempty"`
	// Scale is the scale of a change: "log" for ratios, "difference" or "proportion" for
	// differences.
	Scale metric.Scale `json:"scale,omitempty"`

	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // in one sentence

	// Refuted is true if an improvement was expected and the interval excludes it. No repeat would
	// change that, unlike a decision with NeedPairs.
	Refuted bool `json:"refuted,omitempty"`

	// WithheldBy holds the addresses of the gates of answers and evaluations that do not pass, and
	// therefore keep a decision on speed from being an improvement.
	WithheldBy []string `json:"withheld_by,omitempty"`

	// N is the number of pairs used.
	N int `json:"n"`
	// BaseValue and HeadValue are geometric means over pairs, in Unit. HeadValue is also the value
	// that is compared with a limit.
	BaseValue *float64 `json:"base_value,omitempty"`
	HeadValue *float64 `json:"head_value,omitempty"`
	// BaseBound and HeadBound are present if a capacity is beyond the searched range. The value is
	// then an end of the range.
	BaseBound Bound `json:"base_bound,omitempty"`
	HeadBound Bound `json:"head_bound,omitempty"`
	// Change is head/base − 1 (log scale) or head − base (other scales). Lower to Upper is the
	// interval that decides: two one-sided bounds at 1 − alpha each. If only one bound is absent,
	// it is infinite.
	Change *float64 `json:"change,omitempty"`
	Lower  *float64 `json:"lower,omitempty"`
	Upper  *float64 `json:"upper,omitempty"`
	// Level is the one-sided error of each bound if it is not the document's alpha. A look of a
	// group-sequential test has its nominal level, a further attempt its share.
	Level float64 `json:"level,omitempty" bounds:"0,1"`
	// Moderated is true if the spread was moderated with the other cells of the metric.
	Moderated bool `json:"moderated,omitempty"`
	// Known is the spread of a calibration that was used, absent without one.
	Known *KnownSpread `json:"known_spread,omitempty"`
	// Look is the number of repeats at the look that decided. Later describes all pairs if more
	// were measured after it: shown, not judged.
	Look  int       `json:"look,omitempty"`
	Later *Estimate `json:"later,omitempty"`
	// HolmLevel is the level that PHolm is compared with, if it is not the share of the gate.
	HolmLevel float64 `json:"holm_level,omitempty" bounds:"0,1"`
	// P is the one-sided p value for "worse", PHolm is P adjusted over the family. If an
	// improvement was found, both are for "better", and PBetter is true. If one is expected and the
	// verdict is not a regression, they are for "better by more than the margin".
	P       *float64      `json:"p,omitempty" bounds:"0,1"`
	PHolm   *float64      `json:"p_holm,omitempty" bounds:"0,1"`
	PBetter bool          `json:"p_better,omitempty"`
	Margin  metric.Margin `json:"margin,omitempty"` // as in the gate
	// Limit is the limit of an assert that HeadValue is compared with, and LimitOp the operator;
	// absent if the condition does not compare numbers. A limit on a value that was not measured
	// has no HeadValue.
	Limit   *float64 `json:"limit,omitempty"`
	LimitOp Operator `json:"limit_op,omitempty"`
	// NeedPairs is the number of repeats that would decide an inconclusive comparison.
	NeedPairs int `json:"need_pairs,omitempty"`
	// Detectable is the smallest change that is found with 80 % power at this n and spread.
	Detectable float64  `json:"detectable,omitempty"`
	Warnings   []string `json:"warnings,omitempty"` // as sentences
	// MovedCost lists metrics in which a head that passes is worse and that no gate compares, in words. One decision of a
	// pair of cells has it.
	MovedCost string `json:"moved_cost,omitempty"`
	// Pairs behind the decision, for checking it.
	Pairs []Pair `json:"pairs,omitempty"`
	// Infrastructure is true if the base fails too: exit 4.
	Infrastructure bool `json:"infrastructure,omitempty"`
	// Sessions are the values of the stored baseline, oldest first. Earlier holds the requests of
	// each of its sessions, in a decision on success rates.
	Sessions []float64  `json:"sessions,omitempty"`
	Earlier  []Requests `json:"earlier,omitempty"`
	// Descriptive decisions cannot be decided, for Reason. InvalidFrom is the first repeat with
	// data that must not be used for a decision.
	Descriptive bool `json:"descriptive,omitempty"`
	InvalidFrom int  `json:"invalid_from,omitempty"`
}

// Requests counts requests.
type Requests struct {
	Sent   int `json:"sent"`   // all requests
	Failed int `json:"failed"` // failed requests
}

// Estimate describes a comparison without deciding it.
type Estimate struct {
	N         int     `json:"n"`          // pairs
	BaseValue float64 `json:"base_value"` // geometric mean
	HeadValue float64 `json:"head_value"` // geometric mean
	Change    float64 `json:"change"`     // as in a decision
	// An absent bound is infinite.
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`
}

// Pair holds the values of one repeat.
type Pair struct {
	Repeat int     `json:"repeat"` // number of the repeat
	Base   float64 `json:"base"`   // value
	Head   float64 `json:"head"`   // value
	// Later pairs came after the look that decided: shown, not judged.
	Later bool `json:"later,omitempty"`
	// Nodes of the repeat, see Run.Nodes.
	Nodes string `json:"nodes,omitempty"`
}

// Step is a one-shot action that was executed or skipped.
type Step struct {
	Addr     string     `json:"addr"` // address in the file
	Status   StepStatus `json:"status"`
	Duration float64    `json:"duration_s" bounds:"0,"` // in seconds
	Log      string     `json:"log,omitempty"`          // path below the run directory
	Failure  *Failure   `json:"failure,omitempty"`      // why it failed
}
