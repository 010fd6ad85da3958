package result

// Profile describes one more pair of launches, after the verdict, under a profiler. It shows which
// operations account for a regression. It is not a sample and decides nothing.
type Profile struct {
	Profiler string `json:"profiler"` // "torch" or "nsys"
	// Gate and Metric identify the regression with the smallest p value of the session, which is
	// profiled. Base and Head are the hashes of its cells, Values their coordinates without the
	// compared axis.
	Gate      string      `json:"gate"`
	Metric    string      `json:"metric"`
	Benchmark string      `json:"benchmark"` // address
	Base      string      `json:"base"`
	Head      string      `json:"head"`
	Values    []AxisValue `json:"values,omitempty"`
	Reason    string      `json:"reason,omitempty"` // why there is no profile
	// Per is the unit that times are divided by: "token", an output token in the profiled time, or
	// "second" of that time if the servers do not count their tokens.
	Per string `json:"per,omitempty"`
	// Sides are the base and the head, in this order.
	Sides []ProfileSide `json:"sides,omitempty"`
	// Rows are the operations whose time changed most, the largest change first. Operations is the
	// total number of operations.
	Rows       []ProfileRow `json:"rows,omitempty"`
	Operations int          `json:"operations,omitempty"`
	// Spent is the machine time of its launches, which is not part of the bill.
	Spent *Spent   `json:"spent,omitempty"`
	Notes []string `json:"notes,omitempty"` // as sentences
}

// ProfileSide is the profile of one side.
type ProfileSide struct {
	Side    string   `json:"side"`                         // "base" or "head"
	Target  string   `json:"target"`                       // address
	Seconds float64  `json:"seconds" bounds:"0,"`          // profiled time
	Tokens  float64  `json:"tokens,omitempty" bounds:"0,"` // output tokens in that time
	Traces  int      `json:"traces"`                       // one for each rank of each server; their times are added
	CPU     float64  `json:"cpu_s,omitempty" bounds:"0,"`  // own time of operations on CPUs, without nested ones
	GPU     float64  `json:"gpu_s,omitempty" bounds:"0,"`  // of kernels, copies and fills on GPUs
	Files   []string `json:"files,omitempty"`              // kept traces, paths below the run directory
}

// ProfileRow is an operation in the profiles of both sides.
type ProfileRow struct {
	Kind string `json:"kind"` // "gpu" for a kernel, "cpu" for an operation on a CPU
	Name string `json:"name"` // shortened; unique
	// Full is the name in the profiler, if it differs.
	Full string `json:"full,omitempty"`
	// BasePer and HeadPer are seconds per token, or per second of the profile. Change is their
	// difference.
	BasePer float64 `json:"base_per" bounds:"0,"`
	HeadPer float64 `json:"head_per" bounds:"0,"`
	Change  float64 `json:"change"`
	// BaseCalls and HeadCalls are calls per token or second.
	BaseCalls float64 `json:"base_calls" bounds:"0,"`
	HeadCalls float64 `json:"head_calls" bounds:"0,"`
}

// The kinds of operations in a profile.
const (
	ProfileCPU = "cpu"
	ProfileGPU = "gpu"
)
