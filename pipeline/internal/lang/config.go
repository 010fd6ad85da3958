package lang

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// Config is an evaluated pipeline. Every block is decoded by its schema, every plan-time expression is
// evaluated, and every for_each and matrix is expanded. Values known only at run time stay expressions, which
// the methods of Config evaluate.
type Config struct {
	Sources *syntax.Sources
	// Tests are the significance tests that gates name; nil means the standard ones.
	Tests       gates.Tests
	Settings    Settings
	Variables   []Variable
	Steps       []*Step
	Servers     []*Server // every instance; abstract templates are left out
	Deployments []*Deployment
	Benchmarks  []*Benchmark
	Baselines   []*Baseline
	Gates       []*Gate
	Reports     []*Report
	// Measures are the metrics that the file declares, in source order.
	Measures []steps.Measure
	// LeftOut lists the addresses of the gates that SelectGates left out.
	LeftOut []string
	// Read holds the texts of the files that file and templatefile read, by their path in the pipeline's
	// folder.
	Read map[string]string
	// Stored is true if the pipeline is judged without the files beside it, such as those of datasets.
	Stored bool
	// Files opens the files of datasets.
	Files *datasets.Files
	// Arrivals are the load models; nil means the program's own.
	Arrivals load.Arrivals

	// prog and values are used to evaluate expressions again at run time.
	prog    *program
	values  map[string]cty.Value // of variables, by address
	secrets []string
	// taken maps servers of the head's side, by address, to the file that describes them; see TakeHead.
	taken map[string]*Config
	// files caches comparisons of models and other files of work with those of taken.
	files *sameFiles
}

// Sources are the files that a pipeline was loaded from.
type Sources = syntax.Sources

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

// Step is one one-shot action.
type Step struct {
	Addr      string // step.exec.build
	Kind      steps.Kind
	Object    steps.Object // late arguments are unknown values until ResolveStep
	DependsOn []string     // addresses of steps, explicit and by reference
	Range     hcl.Range

	late bool
}

// Server is one server instance.
type Server struct {
	Addr      string // server.vllm.sut["base"]
	Kind      steps.Kind
	Spec      steps.ServerSpec // late values shown as "(known after step.exec.build)"
	Late      bool             // Spec must be resolved again by ResolveServer before a launch
	DependsOn []string         // addresses of steps
	Role      string           // in a deployment: "producer", "consumer", "both" or ""
	Range     hcl.Range
}

// Deployment is a set of servers that serve as one target.
type Deployment struct {
	Addr string
	// Spec describes the whole deployment as it is launched, with late values as in Server.Spec. The other
	// fields locate its parts in the file.
	Spec      steps.DeploymentSpec
	Late      bool // Spec must be resolved again by ResolveDeployment before a launch
	Servers   []*Server
	Services  []Part
	Transfer  *Part
	Router    *Part
	DependsOn []string
	Range     hcl.Range
}

// Part is a service, a KV transfer or a router of a deployment.
type Part struct {
	Addr   string
	Kind   steps.Kind
	Object steps.Object
	Range  hcl.Range
}

// Benchmark is a benchmark with its expanded matrix.
type Benchmark struct {
	Addr        string
	Description string
	Axes        []Axis
	Cells       []Cell // source order, last axis fastest
	Excluded    int
	RepeatMin   int
	RepeatMax   int
	// Passes is how often each launch measures every cell, at least 1.
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
	typed    []cty.Value // of Values, as expressions see them
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
	Assert              *Assert
	Range               hcl.Range
	MarginRange         hcl.Range
	instance            instance // of the block, with its key and value
}

// Assert is an absolute limit. Its expressions are evaluated after the run by Config.EvalAssert.
type Assert struct {
	Condition    hcl.Expression
	ErrorMessage hcl.Expression
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
