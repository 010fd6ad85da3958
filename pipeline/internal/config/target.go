package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/steps"
)

// Step is one one-shot action.
type Step struct {
	Addr      string // step.exec.build
	Kind      steps.Kind
	Object    steps.Object // late arguments are unknown values until ResolveStep
	DependsOn []string     // addresses of steps, explicit and by reference
	Late      bool         // Object must be resolved again by ResolveStep before the step runs
	Range     hcl.Range
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
