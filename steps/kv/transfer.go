package kv

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// The transports that a file can declare. Counters and log lines prove which transport moved the data.
const (
	NCCL   = "nccl"
	TCP    = "tcp"
	RDMA   = "rdma"
	NVLink = "nvlink"
	// Files means a shared folder; a file cannot declare it.
	Files = "disk"
)

// Which side moves the blocks.
const (
	pull = "pull" // the decode server reads
	push = "push" // the prefill server writes
)

// isPush reports whether the block sets mode = "push".
func isPush(t steps.TransferSpec) bool { return text(t.Options["mode"]) == push }

// Transfers describes the kv_transfer blocks.
func (t Table) Transfers() []steps.Kind {
	kinds := make([]steps.Kind, 0, len(t))
	for _, c := range t {
		if !c.listed() {
			continue
		}
		schema := steps.Schema{Attrs: append(transferAttrs(), c.Options...)}
		kinds = append(kinds, steps.Kind{
			Block: "kv_transfer", Name: c.Name, Doc: c.Doc, Schema: schema,
			Validate: func(o steps.Object) []steps.Problem { return append(validateTransfer(c, o), schema.Check(o)...) },
		})
	}
	return kinds
}

func transferAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "transport", Type: cty.String, Enum: enum.Of(NCCL, TCP, RDMA, NVLink),
			Doc: "What carries the KV cache. It is checked against counters and logs; a run that used another one is invalid."},
		{Name: "devices", Type: cty.List(cty.String),
			Doc: "Network devices to use, for example [\"mlx5_0\", \"mlx5_1\"]; the connector's own choice unless set."},
		{Name: "buffer", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitBytes,
			Doc: "Size of the transfer buffer, for connectors that have one."},
		{Name: "role", Type: cty.String, Enum: enum.Of(steps.RoleProducer, steps.RoleConsumer, steps.RoleBoth),
			Doc: "Role of every server of the deployment, for connectors where it is the same; otherwise each server's role says it."},
		{Name: "config", Type: cty.DynamicPseudoType, Doc: "Further settings of the connector, passed through as kv_connector_extra_config."},
	}
}

var deviceName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.:-]*$`)

func validateTransfer(c Connector, o steps.Object) []steps.Problem {
	var found []steps.Problem
	if t := o.Text("transport"); t != "" && !slices.Contains(c.Transports, t) {
		detail := "It has no transport to choose."
		if len(c.Transports) > 0 {
			detail = fmt.Sprintf("It can use %v.", c.Transports)
		}
		found = append(found, steps.Problem{
			Path: []string{"transport"}, Summary: fmt.Sprintf("%s cannot use %s", c.Name, t), Detail: detail,
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
	if len(devices) > 0 && len(c.Transports) == 0 {
		found = append(found, steps.Problem{
			Path: []string{"devices"}, Summary: "devices has no effect with " + c.Name, Detail: "It moves KV through " + c.Through +
				".", Warning: true,
		})
	}
	if v := o.Value("config"); o.Known("config") && !v.Type().IsObjectType() && !v.Type().IsMapType() {
		found = append(found, steps.Problem{
			Path: []string{"config"}, Summary: "config must be an object", Detail: "For example config = { num_workers = 20 }.",
		})
	}
	return append(found, validateOptions(o)...)
}

var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validateOptions checks arguments that only some kinds have.
func validateOptions(o steps.Object) []steps.Problem {
	var found []steps.Problem
	env, err := o.Env("env")
	if err != nil {
		return found // unknown so far, or the type check reports it
	}
	for _, e := range env {
		if !variableName.MatchString(e.Name) {
			found = append(found, steps.Problem{Path: []string{"env", e.Name},
				Summary: fmt.Sprintf("%q is not the name of an environment variable", e.Name)})
		}
	}
	return found
}
