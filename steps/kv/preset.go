package kv

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// preset is one form of a connector: what an engine calls it and wants of it from one
// release to another. Everything that depends on the version is said by a row of the
// table below.
type preset struct {
	connector string // our kind
	mode      string // "push" where the connector pushes by choice, else ""
	engine    string
	from, to  string // releases, both included; "" is open
	class     string // the engine's own name

	protocols []string // of routers that fit; empty means all
	services  []string // it needs one of them
	buffer    bool     // has a transfer buffer of a size to choose
	pair      bool     // exactly one producer and one consumer
	shared    bool     // servers can do both, and do where they have no role
	// consumersFirst: decode servers listen for the prefill servers.
	consumersFirst bool
	// noParams: a prefill server answers without transfer parameters.
	noParams bool
	// store: prefixes are kept in a place that all servers share, nobody hands over.
	store bool
	// nodes is the release from which servers of several nodes can use it, "" for none:
	// all ranks of a server are found through its first node then.
	nodes  string
	fabric fabric

	ports  func(*member) ([]PortNeed, error)
	config func(*writer) // of vLLM's kv_transfer_config
}

// The engines.
const (
	vllm   = "vllm"
	sglang = "sglang"
)

var engineNames = map[string]string{vllm: "vLLM", sglang: "SGLang"}

// presets in the order of releases. What is stated without a place was read in the
// release's own source or in the pull request that brought or removed it:
//
//   - P2pNcclConnector went with vllm-project/vllm#44854 of June 2026. That it is in
//     0.23 and not in 0.24 is inferred from the dates, as is NixlPushConnector's first
//     release, 0.24 (#35264, the same month), and MooncakeStoreConnector's, 0.21.
//   - MooncakeConnector came back for the V1 engine with #24718 (0.13) and spoke NIXL's
//     protocol until #31034 (0.16) brought the bootstrap server.
//   - SharedStorageConnector became ExampleConnector with #30201 (0.13).
//   - vLLM spread over nodes by its own processes came with #23691 (0.12), in whose time the
//     handshakes of all ranks are served by the first node.
//   - SGLang's mooncake_tcp is sgl-project/sglang#26346; it sets MC_FORCE_TCP=1 and
//     drops the device, which is how earlier releases are told.
var presets = []preset{
	{connector: "nixl", engine: vllm, from: "0.9", class: "NixlConnector", protocols: []string{"nixl"}, nodes: "0.12", fabric: ucx, ports: sideChannel, config: nixlConfig},
	{connector: "nixl", mode: push, engine: vllm, from: "0.24", class: "NixlPushConnector", protocols: []string{"nixl"}, nodes: "0.24", fabric: ucx, ports: sideChannel, config: nixlConfig},
	{connector: "nixl", engine: sglang, from: "0.4.6", class: "nixl", protocols: []string{"sglang"}, nodes: "0.4.6", fabric: ucx, ports: sglangBootstrap},

	{connector: "mooncake", engine: vllm, from: "0.6.4", to: "0.8", class: "MooncakeConnector", protocols: []string{"v0"}, services: []string{"etcd", "metadata"}, buffer: true, pair: true, fabric: mooncakeV0, ports: pipePort, config: mooncakeV0Config},
	{connector: "mooncake", engine: vllm, from: "0.13", to: "0.15", class: "MooncakeConnector", protocols: []string{"nixl"}, fabric: mooncake, ports: mooncakeSideChannel, config: mooncakeConfig},
	{connector: "mooncake", engine: vllm, from: "0.16", class: "MooncakeConnector", protocols: []string{"mooncake"}, nodes: "0.16", fabric: mooncake, ports: mooncakeBootstrap, config: mooncakeConfig},
	{connector: "mooncake", engine: sglang, from: "0.4.6", to: "0.5.22", class: "mooncake", protocols: []string{"sglang"}, nodes: "0.4.6", fabric: mooncake, ports: sglangBootstrap},
	{connector: "mooncake", engine: sglang, from: "0.5.23", class: "mooncake", protocols: []string{"sglang"}, nodes: "0.5.23", fabric: mooncakeNamed, ports: sglangBootstrap},

	{connector: "mooncake_store", engine: vllm, from: "0.8", to: "0.8", class: "MooncakeStoreConnector", protocols: []string{"round_robin", "v0"}, services: []string{"mooncake_master"}, buffer: true, shared: true, store: true, fabric: mooncakeV0, config: storeV0Config},
	{connector: "mooncake_store", engine: vllm, from: "0.21", class: "MooncakeStoreConnector", protocols: []string{"round_robin", "v0"}, services: []string{"mooncake_master"}, buffer: true, shared: true, store: true, fabric: mooncake, config: storeConfig},

	{connector: "p2p_nccl", engine: vllm, from: "0.9.2", to: "0.23", class: "P2pNcclConnector", protocols: []string{"p2p_nccl"}, buffer: true, fabric: nccl, ports: p2pPort, config: p2pConfig},
	{connector: "pynccl", engine: vllm, from: "0.6.4", to: "0.10", class: "PyNcclConnector", protocols: []string{"v0"}, buffer: true, pair: true, fabric: nccl, ports: pyncclPort, config: pyncclConfig},

	{connector: "lmcache", engine: vllm, from: "0.8.5", class: "LMCacheConnectorV1", protocols: []string{"nixl", "v0", "round_robin"}, buffer: true, pair: true, shared: true, consumersFirst: true, noParams: true, fabric: ucx, ports: lmcachePort, config: lmcacheConfig},
	{connector: "multi", engine: vllm, from: "0.9", class: "MultiConnector", shared: true},

	{connector: "example", engine: vllm, from: "0.8.5", to: "0.12", class: "SharedStorageConnector", protocols: []string{"v0", "round_robin"}, shared: true, store: true, noParams: true, config: exampleConfig},
	{connector: "example", engine: vllm, from: "0.13", class: "ExampleConnector", protocols: []string{"v0", "round_robin"}, shared: true, store: true, noParams: true, config: exampleConfig},

	{connector: "custom", engine: vllm, shared: true, noParams: true, config: customConfig},
	{connector: "custom", engine: sglang, protocols: []string{"sglang"}, ports: sglangBootstrap},
}

// name of a connector for messages: mooncake, or nixl in push mode.
func connectorName(connector, mode string) string {
	if mode == push {
		return connector + " with mode push"
	}
	return connector
}

// findPreset returns the form of a connector that an engine has in its version.
func findPreset(t steps.TransferSpec, m *member) (*preset, error) {
	mode := modeOf(t)
	var forms []preset
	for i, p := range presets {
		if p.connector != t.Connector || p.mode != mode {
			continue
		}
		if p.engine == m.Spec.Engine && m.version.within(p.from, p.to) {
			return &presets[i], nil
		}
		forms = append(forms, p)
	}
	name := connectorName(t.Connector, mode)
	if len(forms) == 0 {
		return nil, fmt.Errorf("there is no kv_transfer %s; use one of %s", name, strings.Join(connectorNames(), ", "))
	}
	return nil, fmt.Errorf("%s needs %s (server %q states %s)", name, strings.Join(spans(forms), ", or "), m.Name, stated(m))
}

// spans lists the releases that have one of the forms, those that follow each other as one.
func spans(forms []preset) []string {
	var out []string
	for i := 0; i < len(forms); i++ {
		span := forms[i]
		for i+1 < len(forms) && forms[i+1].engine == span.engine && forms[i+1].from == next(span.to) {
			i++
			span.to = forms[i].to
		}
		out = append(out, span.releases())
	}
	return out
}

// next is the release after one: 0.16 after 0.15.
func next(release string) string {
	dot := strings.LastIndexByte(release, '.')
	n, err := strconv.Atoi(release[dot+1:])
	if err != nil {
		return ""
	}
	return release[:dot+1] + strconv.Itoa(n+1)
}

func stated(m *member) string {
	name := engineNames[m.Spec.Engine]
	if name == "" {
		name = m.Spec.Engine
	}
	if m.Spec.Version == "" {
		return name + " without a version, which means the newest"
	}
	return name + " " + m.Spec.Version
}

// releases that have this form, for messages.
func (p preset) releases() string {
	name := engineNames[p.engine]
	switch {
	case p.from == "" && p.to == "":
		return name
	case p.to == "":
		return name + " " + p.from + " or later"
	case p.from == p.to:
		return name + " " + p.from + ".x"
	}
	return name + " " + p.from + " to " + p.to
}
