package steps

import (
	"slices"
	"strings"
	"time"
)

// DeploymentSpec is several servers that serve as one target, completely evaluated:
// prefill and decode servers with a KV connector between them, the services that the
// connector needs, and the router that clients talk to.
type DeploymentSpec struct {
	// Addr is the deployment's address in the file, for example deployment.disagg["rdma"].
	Addr     string
	Members  []Member
	Services []ServiceSpec
	// Transfer is nil if no KV cache moves, as between replicas behind a router.
	Transfer *TransferSpec
	// Router is nil if clients talk to the only member directly.
	Router *RouterSpec
}

// Member is one server of a deployment.
type Member struct {
	// Name is the server's label in the deployment ("prefill").
	Name string
	// Role of the member in the transfer: RoleProducer, RoleConsumer, RoleBoth, or "" without one.
	Role string
	Spec ServerSpec
}

// The roles of a member in a KV transfer.
const (
	RoleProducer = "producer" // prefills
	RoleConsumer = "consumer" // decodes
	RoleBoth     = "both"
)

// TransferSpec describes how the KV cache moves between members.
type TransferSpec struct {
	// Connector is the block's kind: "nixl", "mooncake", "p2p_nccl" and so on.
	Connector string
	// Transport that is declared, "nccl", "tcp", "rdma" or "nvlink"; "" for no statement.
	Transport string
	// Devices are network devices such as mlx5_0; empty leaves the choice to the connector.
	Devices []string
	// Buffer in bytes, 0 for the connector's default.
	Buffer int64
	// Role of all members, "" if their roles differ.
	Role string
	// Config holds further settings, passed through as they are.
	Config map[string]any
	// Options are the arguments that the kind of transfer has beyond these, by name, as
	// plain values; those that are not set are absent.
	Options map[string]any
}

// ServiceSpec is a process that a transfer needs beside the servers, such as etcd.
type ServiceSpec struct {
	// Name is unique in the deployment: the kind, or the block's second label.
	Name string
	// Kind is "etcd", "mooncake_master", "metadata" and so on.
	Kind string
	// Image or Executable is the source of the service. If both are empty, the kind's default is used: an
	// image if the members have images, else its program on the machine.
	Image      string
	Executable []string
	Args       []Arg
	Env        []EnvVar
	// Port asked for, 0 for a free one; MetricsPort likewise where the kind has one.
	Port, MetricsPort int
}

// RouterSpec is the router before a deployment's members.
type RouterSpec struct {
	// Protocol is the block's kind: "round_robin", "nixl", "mooncake", "p2p_nccl", "v0", "sglang", "exec".
	Protocol string
	// Prefill and Decode are names of members; Prefill is empty where every member does both.
	Prefill, Decode []string
	Port            int
	// Command starts a router of others, with placeholders for its port and the servers; empty for ours. Env are its variables.
	Command []string `json:",omitempty"`
	Env     []EnvVar `json:",omitempty"`
}

// RouterVars maps the placeholders of a router's command, without the prefix "router.", to their descriptions.
var RouterVars = map[string]string{
	"host":         "the address to listen on",
	"port":         "the port to listen on",
	"metrics_port": "a second free port, for a router that serves its metrics apart",
	"decode":       "the URLs of the servers",
}

// Uses reports whether the router's command has the placeholder of a value.
func (r *RouterSpec) Uses(name string) bool {
	return slices.ContainsFunc(r.Command, func(word string) bool { return strings.Contains(word, RouterVar(name)) })
}

// RouterVar returns the placeholder of a value. It is written as a reference in a file is.
func RouterVar(name string) string { return "${router." + name + "}" }

// Observation holds an engine's metrics at one moment. A figure that the engine does not report is absent.
type Observation struct {
	At time.Time
	// Gauges by their names of the series, see the Series constants.
	Gauges map[string]float64
	// Counters since the server's start, by the names of package metric or the engine's names.
	Counters map[string]float64
	// Exposition is the text that they were taken from, in Prometheus' format; nil where there is none.
	Exposition func() []byte
}

// The gauges that all engines share.
const (
	SeriesRunning = "running"  // requests in the batch
	SeriesWaiting = "waiting"  // requests in the queue
	SeriesKVUsage = "kv_usage" // share of the KV cache in use, 0 to 1
	SeriesHitRate = "hit_rate" // prefix cache hits per queried token, 0 to 1
	SeriesPrompt  = "prompt_throughput"
	SeriesOutput  = "generation_throughput" // tokens per second
)

// The figures of a start, from its log.
const (
	StartKVTokens    = "kv_cache_tokens"    // capacity
	StartKVBytes     = "kv_cache_bytes"     // memory of the KV cache
	StartWeights     = "weight_bytes"       // memory of the model
	StartLoad        = "model_load_seconds" // reading the weights
	StartCompile     = "compile_seconds"
	StartGraphs      = "graph_capture_seconds"
	StartProfile     = "profile_seconds"  // measuring the memory, making the KV cache, warming up
	StartGPUBytes    = "gpu_memory_bytes" // of the device, in use once the server is ready
	StartConcurrency = "max_concurrency"  // requests of the full length that fit at once
)
