package kv

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Writer collects the configuration that one connector needs on one member.
type Writer struct {
	// Top and Extra are vLLM's kv_transfer_config and its kv_connector_extra_config.
	Top, Extra map[string]any

	layout *Layout
	member *Member
	part   part
	in     Assigned
	args   []steps.Arg
	env    []steps.EnvVar
	files  []steps.File
	err    error
}

// SetEnv adds a variable unless the file sets it.
func (w *Writer) SetEnv(name, value string) {
	_, own := w.member.env(name)
	if _, added := steps.Getenv(w.env, name); !own && !added {
		w.env = append(w.env, steps.EnvVar{Name: name, Value: value})
	}
}

// setArg adds an argument unless the file sets it.
func (w *Writer) setArg(name string, value any) {
	if _, own := w.member.arg(name); !own {
		w.args = append(w.args, steps.Arg{Name: name, Value: value})
	}
}

// file adds a file unless the file names one of its own.
func (w *Writer) file(name, variable string, content []byte) {
	if _, own := w.member.env(variable); !own {
		w.files = append(w.files, steps.File{Name: name, EnvVar: variable, Content: content})
	}
}

// mooncakeFile adds the configuration of Mooncake.
func (w *Writer) mooncakeFile(fields map[string]any) {
	content, err := json.MarshalIndent(fields, "", "  ")
	w.err = cmp.Or(w.err, err)
	w.file("mooncake.json", "MOONCAKE_CONFIG_PATH", append(content, '\n'))
}

// Port returns the member's port for a purpose.
func (w *Writer) Port(purpose string) steps.Port { return w.in.at(w.member.Name, purpose) }

// peer returns the first member with a role, else the member itself.
func (w *Writer) peer(role string) *Member {
	for _, m := range w.layout.members {
		if m.role == role {
			return m
		}
	}
	return w.member
}

// Devices returns the transfer's devices, comma-separated as most programs expect.
func (w *Writer) Devices() string { return strings.Join(w.part.spec.Devices, ",") }

// Host returns the address at which others reach the member.
func (w *Writer) Host() string { return w.in.host(w.member.Name) }

func (w *Writer) Ranks() int { return w.member.Ranks() }

// buffer returns the size of the transfer buffer: the file's, else the connector's default.
func (w *Writer) buffer(usual int64) int64 {
	if w.part.spec.Buffer > 0 {
		return w.part.spec.Buffer
	}
	return usual
}

// extra returns what the transfer adds to a member.
func (l *Layout) extra(m *Member, in Assigned) (Extra, error) {
	w := &Writer{layout: l, member: m, in: in}
	if m.Spec.URL != "" {
		return Extra{}, nil
	}
	if e := m.engine(); e.pin != nil && slices.ContainsFunc(m.ports, func(n PortNeed) bool { return n.Purpose == e.pinned }) {
		e.pin(w)
	}
	if l.form != nil {
		m.engine().write(w)
	}
	return Extra{Args: w.args, Env: w.env, Files: w.files}, w.err
}
