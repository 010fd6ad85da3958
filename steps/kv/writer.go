package kv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// writer collects what one connector wants of one member.
type writer struct {
	l  *Layout
	m  *member
	p  part
	in Assigned
	// top and extra are vLLM's kv_transfer_config and its kv_connector_extra_config.
	top, extra map[string]any
	args       []steps.Arg
	env        []steps.EnvVar
	files      []steps.File
	err        error
}

// setenv adds a variable unless the file sets it.
func (w *writer) setenv(name, value string) {
	_, own := w.m.env(name)
	added := slices.ContainsFunc(w.env, func(e steps.EnvVar) bool { return e.Name == name })
	if !own && !added {
		w.env = append(w.env, steps.EnvVar{Name: name, Value: value})
	}
}

// setarg adds an argument unless the file sets it.
func (w *writer) setarg(name string, value any) {
	if _, own := w.m.arg(name); !own {
		w.args = append(w.args, steps.Arg{Name: name, Value: value})
	}
}

// file adds a file unless the file names one of its own.
func (w *writer) file(name, variable string, content []byte) {
	if _, own := w.m.env(variable); !own {
		w.files = append(w.files, steps.File{Name: name, EnvVar: variable, Content: content})
	}
}

func (w *writer) jsonFile(name, variable string, fields map[string]any) {
	content, err := json.MarshalIndent(fields, "", "  ")
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", name, err)
	}
	w.file(name, variable, append(content, '\n'))
}

// port is the member's own port of a purpose.
func (w *writer) port(purpose string) number { return w.in.number(Port{w.m.Name, purpose}) }

// peer is the first member with a role.
func (w *writer) peer(role string) *member {
	for _, m := range w.l.members {
		if m.role == role {
			return m
		}
	}
	return w.m
}

// devices of the transfer, joined as nearly all programs want them.
func (w *writer) devices() string { return strings.Join(w.p.spec.Devices, ",") }

// extra is what a member gets beside its own block.
func (l *Layout) extra(m *member, in Assigned) (Extra, error) {
	w := &writer{l: l, m: m, in: in}
	if m.Spec.URL != "" {
		return Extra{}, nil
	}
	l.internalPorts(w)
	switch {
	case l.preset == nil:
	case m.Spec.Engine == sglang:
		l.writeSGLang(w)
	default:
		l.writeVLLM(w)
	}
	return Extra{Args: w.args, Env: w.env, Files: w.files}, w.err
}

// internalPorts pins the ports that an engine would look for by itself.
func (l *Layout) internalPorts(w *writer) {
	for _, n := range w.m.ports {
		switch n.Purpose {
		case PortInternal:
			w.setenv(w.m.internalVariable(), w.port(PortInternal).String())
		case PortNCCL:
			w.setarg("nccl_port", w.port(PortNCCL).value())
		}
	}
}

// lifted are the settings in config that belong to kv_transfer_config itself; all others
// are the connector's extra config.
var lifted = []string{"kv_buffer_device", "kv_buffer_size", "kv_load_failure_policy", "enable_permute_local_kv"}

// writeVLLM adds --kv-transfer-config and what its connectors read from the environment.
func (l *Layout) writeVLLM(w *writer) {
	// The address that the server tells its peers; its own guess is the machine's first one.
	w.setenv("VLLM_HOST_IP", w.in.host(w.m.Name))
	configs := make([]any, len(l.parts))
	for i, p := range l.parts {
		configs[i] = l.transferConfig(w, p)
	}
	config := configs[0]
	if l.preset.connector == "multi" {
		extra := maps.Clone(l.spec.Transfer.Config)
		extra["connectors"] = configs
		w.top = map[string]any{"kv_connector": l.preset.class, "kv_role": "kv_" + w.m.role, "kv_connector_extra_config": extra}
		failLoads(w)
		config = w.top
	}
	w.args = append(w.args, steps.Arg{Name: "kv_transfer_config", Value: config})
}

// transferConfig is the configuration of one connector. It adds the variables that the
// connector reads to w.
func (l *Layout) transferConfig(w *writer, p part) map[string]any {
	if p.preset == nil {
		return p.raw
	}
	w.p = p
	w.top = map[string]any{"kv_connector": p.preset.class, "kv_role": "kv_" + w.m.role}
	w.extra = map[string]any{}
	if p.preset.config != nil {
		p.preset.config(w)
	}
	p.preset.fabric.write(w)
	for name, v := range p.spec.Config {
		switch {
		case p.preset.connector == "lmcache" && !lmcacheExtra(name): // in its file
		case slices.Contains(lifted, name):
			w.top[name] = v
		default:
			w.extra[name] = v
		}
	}
	if len(w.extra) > 0 {
		w.top["kv_connector_extra_config"] = w.extra
	}
	return w.top
}
