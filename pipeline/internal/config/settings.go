package config

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Settings holds the arguments of the pipeline block.
type Settings struct {
	Description   string
	Alpha         float64       // 0.05 unless set
	Timeout       time.Duration // 0: none
	Lock          string
	Slurm         *steps.SlurmSpec      // nil: the servers run on this machine
	Docker        *steps.DockerSpec     // nil: containers run at the daemon of DOCKER_HOST
	Kubernetes    *steps.KubernetesSpec // nil: no server is a Pod
	Machines      *Machines             // nil: all repeats run on the same machines
	Bisect        *Bisect               // nil: the file cannot be bisected
	Price         *Price                // nil: no prices are known
	Profile       *Profile              // nil: nothing is profiled
	Budget        *Budget               // nil: no limit
	Resident      string                // one of steps.Residents; "": one server at a time
	SlurmRange    hcl.Range
	MachinesRange hcl.Range
	BudgetRange   hcl.Range
	// ResidentRange is the range of the argument resident.
	ResidentRange hcl.Range
	// Variance is nil if only today's pairs estimate their spread.
	Variance      *Variance
	VarianceRange hcl.Range
	// ClusterRange is the range of the argument that selects the cluster, or else of the kubernetes block.
	ClusterRange hcl.Range
}

// Variable is a resolved variable.
type Variable struct {
	Name      string
	Value     cty.Value // marked when sensitive
	Origin    string    // "default", "--var", "--var-file NAME", "PIPELINE_VAR_n"
	Sensitive bool
}

// Machines spreads the repeats of a run over the machines of its docker, slurm or kubernetes block.
type Machines struct {
	// Between is the standard deviation of a change's effect from machine to machine, as a share. With 0 gates
	// judge the mean over the machines of the run.
	Between float64
}

// Bisect describes how the candidates of a bisection become servers of the file.
type Bisect struct {
	// Good and Candidate name the variables that hold the good end and the candidate compared with it.
	Good, Candidate string
	// Candidates lists the candidates in order, the good end first; nil for the commits of Repository.
	Candidates []string
	// Repository is the folder of a git repository, relative to the pipeline file's folder.
	Repository string
	// Build makes a candidate in a checkout of its commit; nil if there is nothing to build.
	Build *BisectBuild
}

// BisectBuild is the command that makes a candidate.
type BisectBuild struct {
	// Command holds the command with its environment, outputs and timeout, as a step "exec" does.
	Command steps.Object
	// Disk limits the size of one checkout with its build, in bytes.
	Disk int64
}

// Price holds what machines cost, in one currency.
type Price struct {
	// GPUHour and MachineHour are the prices of an hour of one GPU and of one machine; 0 means no charge.
	GPUHour, MachineHour float64
	// Currency is the code of ISO 4217, such as "USD".
	Currency string
}

// Money is an amount in a currency.
type Money struct {
	Value    float64
	Currency string
}

// Budget limits what a run spends. Zero means no limit.
type Budget struct {
	// GPUTime limits the GPUs that launches hold, times how long they hold them.
	GPUTime time.Duration
	// Time limits the whole run.
	Time time.Duration
	// Cost limits the money spent.
	Cost Money
}

// Variance defines where a file takes the spread of its pairs from, before they are measured.
type Variance struct {
	// Calibration is the path of a calibration's file; "" means the newest one in the history for such a
	// machine.
	Calibration string
	// Within is the largest ratio of today's spread to the calibration's.
	Within float64
}

// Profile describes how a pair of launches is profiled after a gate has regressed.
type Profile struct {
	Profiler string // ProfilerTorch or ProfilerNsys
	// The profiler starts Delay after the first measured request and stops Window later.
	Delay, Window time.Duration
	// Timeout limits how long a profiler may take to write its traces.
	Timeout time.Duration
	// MaxSize limits the traces of both sides in the run directory, in bytes.
	MaxSize int64
}

// The profilers.
const (
	// ProfilerTorch is torch's profiler, which the engine starts and stops.
	ProfilerTorch = "torch"
	// ProfilerNsys is Nsight Systems, which needs no support from the engine.
	ProfilerNsys = "nsys"
)

// MaxRepeats bounds a plan. Twelve pairs decide most gates; a thousand launches take days.
const MaxRepeats = 1000
