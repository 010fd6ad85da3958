package kv

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// The transports that a file can ask for. What really carried the data is proved by
// counters and log lines, never taken from here.
const (
	NCCL   = "nccl"
	TCP    = "tcp"
	RDMA   = "rdma"
	NVLink = "nvlink"
)

// Who moves the blocks.
const (
	pull = "pull" // the decode server reads
	push = "push" // the prefill server writes
)

// connector is what is particular to one way of transfer in the language.
type connector struct {
	name, doc  string
	transports []string // that it can use
	options    []steps.Attr
}

// connectors of vLLM 0.6 to 0.33 and SGLang 0.5. The name is ours; the engine's own
// comes from the table of presets.
var connectors = []connector{
	{"nixl", "NIXL: vLLM's NixlConnector and SGLang's nixl backend, over UCX.", []string{TCP, RDMA, NVLink}, []steps.Attr{
		{Name: "mode", Type: cty.String, Enum: enum.Of(pull, push), Doc: "Who moves the blocks: pull, the default, lets the decode server read them; push lets the prefill server write them (vLLM 0.24 or later)."},
	}},
	{"mooncake", "Mooncake transfer engine, from the prefill server straight to the decode server. vLLM's of 0.6.4 to 0.8 needs service etcd or metadata.", []string{TCP, RDMA, NVLink}, nil},
	{"mooncake_store", "Mooncake store: a pool of host memory and disks that servers share; buffer is each server's share of it. Needs service mooncake_master.", []string{TCP, RDMA}, nil},
	{"p2p_nccl", "vLLM's P2pNcclConnector, 0.9.2 until its removal after 0.23.", []string{NCCL, TCP, RDMA, NVLink}, nil},
	{"pynccl", "vLLM's PyNcclConnector of the V0 engine (0.6.4 to 0.10), one prefill and one decode server.", []string{NCCL, TCP, RDMA, NVLink}, nil},
	{"lmcache", "LMCache: vLLM's LMCacheConnectorV1. Between a prefill and a decode server it uses NIXL; what config has is written into LMCache's own file.", []string{TCP, RDMA, NVLink}, nil},
	{"multi", "vLLM's MultiConnector: several connectors in a row, the first that has the blocks loads, all save. config = { connectors = [{ connector = \"nixl\" }, { connector = \"mooncake_store\" }] }.", []string{NCCL, TCP, RDMA, NVLink}, nil},
	{"example", "vLLM's ExampleConnector (SharedStorageConnector before 0.13): files in a shared folder. For debugging.", nil, []steps.Attr{
		{Name: "path", Type: cty.String, Doc: "Folder that all servers share; " + DefaultSharedPath + " unless set."},
	}},
	{"custom", "A connector that we do not know, handed to the engine as it is written here.", []string{NCCL, TCP, RDMA, NVLink}, []steps.Attr{
		{Name: "connector", Type: cty.String, Required: true, Doc: "The engine's name of it: vLLM's kv_connector, SGLang's transfer backend."},
		{Name: "module_path", Type: cty.String, Doc: "Python module that vLLM loads the connector from."},
		{Name: "env", Type: cty.Map(cty.String), Doc: "Variables that every server gets unless it sets them itself."},
	}},
}

// connectorOf finds a connector by its name; an unknown one has no transports.
func connectorOf(name string) connector {
	i := slices.IndexFunc(connectors, func(c connector) bool { return c.name == name })
	if i < 0 {
		return connector{name: name}
	}
	return connectors[i]
}

func connectorNames() []string {
	names := make([]string, len(connectors))
	for i, c := range connectors {
		names[i] = c.name
	}
	return names
}

// modeOf a transfer: push, or "" for what is the default of the connector.
func modeOf(t steps.TransferSpec) string {
	if text(t.Options["mode"]) == push {
		return push
	}
	return ""
}

// Transfers describes the kv_transfer blocks.
func Transfers() []steps.Kind {
	kinds := make([]steps.Kind, 0, len(connectors))
	for _, c := range connectors {
		kinds = append(kinds, steps.Kind{
			Block: "kv_transfer", Name: c.name, Doc: c.doc,
			Schema:   steps.Schema{Attrs: append(transferAttrs(), c.options...)},
			Validate: func(o steps.Object) []steps.Problem { return validateTransfer(c, o) },
		})
	}
	return kinds
}

func transferAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "transport", Type: cty.String, Enum: enum.Of(NCCL, TCP, RDMA, NVLink), Doc: "What carries the KV cache. It is checked against counters and logs; a run that used another one is invalid."},
		{Name: "devices", Type: cty.List(cty.String), Doc: "Network devices to use, for example [\"mlx5_0\", \"mlx5_1\"]; the connector's own choice unless set."},
		{Name: "buffer", Type: cty.Number, Unit: steps.UnitBytes, Doc: "Size of the transfer buffer, for connectors that have one."},
		{Name: "role", Type: cty.String, Enum: enum.Of(steps.RoleProducer, steps.RoleConsumer, steps.RoleBoth), Doc: "Role of every server of the deployment, for connectors where it is the same; otherwise each server's role says it."},
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
	if len(devices) > 0 && len(c.transports) == 0 {
		found = append(found, steps.Problem{
			Path: []string{"devices"}, Summary: "devices has no effect with " + c.name, Detail: "It moves KV through files.", Warning: true,
		})
	}
	if o.Known("buffer") && o.Float("buffer") <= 0 {
		found = append(found, steps.Problem{Path: []string{"buffer"}, Summary: "buffer must be above zero"})
	}
	if v := o.Value("config"); o.Known("config") && !v.Type().IsObjectType() && !v.Type().IsMapType() {
		found = append(found, steps.Problem{
			Path: []string{"config"}, Summary: "config must be an object", Detail: "For example config = { num_workers = 20 }.",
		})
	}
	return append(found, validateOptions(o)...)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validateOptions checks the arguments that only some kinds have.
func validateOptions(o steps.Object) []steps.Problem {
	var found []steps.Problem
	if path := o.Text("path"); path != "" && !strings.HasPrefix(path, "/") {
		found = append(found, steps.Problem{
			Path: []string{"path"}, Summary: "path must begin with a slash",
			Detail: "Each server has a working directory of its own, so only an absolute path is the same folder for all.",
		})
	}
	env, err := o.Env("env")
	if err != nil {
		return found // not known yet, or the type says what is wrong
	}
	for _, e := range env {
		if !variableName.MatchString(e.Name) {
			found = append(found, steps.Problem{Path: []string{"env", e.Name}, Summary: fmt.Sprintf("%q is not the name of an environment variable", e.Name)})
		}
	}
	return found
}
