package kv

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// unsupported is why no deployment runs yet.
const unsupported = "deployments of several servers come with the docker launcher; benchmark a single server"

// The transports that a file can ask for. What really carried the data is proved by
// counters and log lines, never taken from here.
const (
	NCCL   = "nccl"
	TCP    = "tcp"
	RDMA   = "rdma"
	NVLink = "nvlink"
)

// connector is what is particular to one way of transfer.
type connector struct {
	name, doc  string
	transports []string // that it can use
}

// connectors of vLLM 0.6 to 0.33 and SGLang 0.5. The name is ours; the engine's own
// comes from the engine and its version.
var connectors = []connector{
	{"nixl", "NIXL: vLLM's NixlConnector (pull or push) and SGLang's nixl backend, over UCX.", []string{TCP, RDMA, NVLink}},
	{"mooncake", "Mooncake transfer engine, from the prefill server straight to the decode server. Takes RDMA where it finds a device, TCP otherwise.", []string{TCP, RDMA, NVLink}},
	{"mooncake_store", "Mooncake store: a pool of host memory and disks that servers share. Needs service mooncake_master.", []string{TCP, RDMA}},
	{"p2p_nccl", "vLLM's P2pNcclConnector, 0.9.2 until its removal in 2026.", []string{NCCL, TCP, RDMA, NVLink}},
	{"pynccl", "vLLM's PyNcclConnector of the V0 engine, one prefill and one decode server.", []string{NCCL, TCP, RDMA, NVLink}},
	{"lmcache", "LMCache: vLLM's LMCacheConnectorV1, over NIXL or a store.", []string{TCP, RDMA, NVLink}},
	{"multi", "vLLM's MultiConnector: several connectors in a row, listed in config.", []string{NCCL, TCP, RDMA, NVLink}},
	{"example", "vLLM's ExampleConnector (once SharedStorageConnector): files in a shared folder. For debugging.", nil},
}

// Transfers describes the kv_transfer blocks.
func Transfers() []steps.Kind {
	kinds := make([]steps.Kind, 0, len(connectors))
	for _, c := range connectors {
		kinds = append(kinds, steps.Kind{
			Block: "kv_transfer", Name: c.name, Doc: c.doc, Unsupported: unsupported,
			Schema:   steps.Schema{Attrs: transferAttrs()},
			Validate: func(o steps.Object) []steps.Problem { return validateTransfer(c, o) },
		})
	}
	return kinds
}

func transferAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "transport", Type: cty.String, Enum: []string{NCCL, TCP, RDMA, NVLink}, Doc: "What carries the KV cache. It is checked against counters and logs; a run that used another one is invalid."},
		{Name: "devices", Type: cty.List(cty.String), Doc: "Network devices to use, for example [\"mlx5_0\", \"mlx5_1\"]; the connector's own choice unless set."},
		{Name: "buffer", Type: cty.Number, Unit: steps.UnitBytes, Doc: "Size of the transfer buffer, for connectors that have one."},
		{Name: "role", Type: cty.String, Enum: []string{"producer", "consumer", "both"}, Doc: "Role of every server of the deployment, for connectors where it is the same; otherwise each server's role says it."},
		{Name: "config", Type: cty.DynamicPseudoType, Doc: "Further settings of the connector, passed through as kv_connector_extra_config."},
	}
}

var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]*$`)

func validateTransfer(c connector, o steps.Object) []steps.Problem {
	var found []steps.Problem
	if t := o.Text("transport"); t != "" && !slices.Contains(c.transports, t) {
		detail := "It has no transport to choose."
		if len(c.transports) > 0 {
			detail = fmt.Sprintf("It can use %v.", c.transports)
		}
		found = append(found, steps.Problem{
			Path: []string{"transport"}, Summary: fmt.Sprintf("%s cannot use %s", c.name, t), Detail: detail,
		})
	}
	devices, err := o.Texts("devices")
	if err != nil {
		found = append(found, steps.Problem{Path: []string{"devices"}, Summary: err.Error()})
	}
	for _, d := range devices {
		if !deviceName.MatchString(d) {
			found = append(found, steps.Problem{Path: []string{"devices"}, Summary: fmt.Sprintf("%q is not the name of a device", d)})
		}
	}
	if len(devices) > 0 && o.Text("transport") == NVLink {
		found = append(found, steps.Problem{
			Path: []string{"devices"}, Summary: "devices has no effect with nvlink", Warning: true,
		})
	}
	if o.Known("buffer") && o.Float("buffer") <= 0 {
		found = append(found, steps.Problem{Path: []string{"buffer"}, Summary: "buffer must be above zero"})
	}
	return found
}
