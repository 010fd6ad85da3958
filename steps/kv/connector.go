package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Connector describes one way to move KV caches between servers. All code about a connector is in its value:
// the language reads its block, this package renders and proves it, the router learns its protocol, and the
// simulator plays it.
type Connector struct {
	// Name is the pipeline's name, the kind of the kv_transfer block. The engine's name is in the form.
	Name, Doc string
	// Transports that a file may choose. Empty if KV moves another way, named by Through.
	Transports []string
	Through    string
	// Options are the block's arguments beyond those common to all connectors.
	Options []steps.Attr
	// Forms by engine and release, oldest release first.
	Forms []Form
	// Lines of a log that show its transfers, in addition to those of its engine and library.
	Lines []Line
	// Chunk is how many tokens at the end of a prompt may not be transferred, if more than a block.
	Chunk int

	several bool // combines other connectors
	foreign bool // passes a connector to the engine that this package does not know
}

// Form describes a connector in one engine, for a range of releases. A difference between versions makes a
// separate form.
type Form struct {
	Engine string
	// From and To are releases, both included; "" means unbounded.
	From, To string
	// Class is the engine's name of the connector; ClassTCP is the name used for TCP, if different.
	Class, ClassTCP string
	// Push marks the form with mode = "push".
	Push bool
	// Unlisted forms are known to the simulator only; files reach them through custom.
	Unlisted bool

	// Protocols lists router protocols that fit, the default first; empty means all.
	Protocols []string
	// Announce is the purpose of the server port that the router must know, "" for none.
	Announce string
	// NoParams means that a prefill server's response carries no transfer parameters.
	NoParams bool

	// Services lists services of which it needs one. AsksMetadata means that it also asks a metadata server.
	Services     []string
	AsksMetadata bool
	// Buffer means that the size of its transfer buffer can be set.
	Buffer bool
	// Pair means that it joins exactly one producer and one consumer.
	Pair bool
	// Shared means that a server can be both producer and consumer, and is without a role.
	Shared bool
	// ConsumersFirst means that decode servers listen for prefill servers, and so start first.
	ConsumersFirst bool
	// Store means that it keeps prefixes in a shared store instead of handing them over.
	Store bool
	// Nodes is the first release in which a server may be spread over nodes, "" for none. All ranks of such a
	// server are found through its first node.
	Nodes string
	// DeviceFlag means that the devices are set by the engine's own flag.
	DeviceFlag bool

	// Library moves the bytes below the connector, nil for none.
	Library *Library
	// Ports returns the ports that a server needs for it.
	Ports func(*Member) ([]PortNeed, error)
	// Config writes its configuration of a server.
	Config func(*Writer)
	// OwnFile reports whether a setting in config belongs in the connector's own file.
	OwnFile func(setting string) bool
	// Play describes how the simulator plays it.
	Play Play
}

// Table lists connectors. Code that concerns several connectors gets the table from its caller, so adding a
// connector means adding one row.
type Table []Connector

// Connectors returns the table of all connectors: those of vLLM 0.6 to 0.33 and SGLang 0.5. Facts without a
// cited source come from the source code of the release, or from the pull request that added or removed them.
func Connectors() Table {
	return Table{nixl, mooncake, mooncakeStore, p2pNCCL, pyNCCL, lmcache, multi, example, dummies, custom}
}

// find returns a connector by name, nil if unknown.
func (t Table) find(name string) *Connector {
	i := slices.IndexFunc(t, func(c Connector) bool { return c.Name == name && c.listed() })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// listed reports whether files can name the connector.
func (c Connector) listed() bool {
	return slices.ContainsFunc(c.Forms, func(f Form) bool { return !f.Unlisted })
}

func (t Table) names() []string {
	var names []string
	for _, c := range t {
		if c.listed() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Class returns the form that an engine has under this name in a version, nil if none.
func (t Table) Class(engine, class, version string) *Form {
	for i := range t {
		for j := range t[i].Forms {
			if f := &t[i].Forms[j]; f.Engine == engine && f.Class == class && class != "" && within(version, f.From, f.To) {
				return f
			}
		}
	}
	return nil
}

// Classes lists an engine's names of the connectors that the simulator can play.
func (t Table) Classes(engine string) []string {
	var names []string
	for _, c := range t {
		for _, f := range c.Forms {
			if f.Engine == engine && f.Play.Exchange != NoExchange && !slices.Contains(names, f.Class) {
				names = append(names, f.Class)
			}
		}
	}
	slices.Sort(names)
	return names
}

// form returns a connector and its form for a member's engine and version.
func (t Table) form(spec steps.TransferSpec, m *Member) (*Connector, *Form, error) {
	push := isPush(spec)
	var forms []Form
	c := t.find(spec.Connector)
	if c != nil {
		for i, f := range c.Forms {
			switch {
			case f.Push != push || f.Unlisted:
			case f.Engine == m.Spec.Engine && within(m.Spec.Version, f.From, f.To):
				return c, &c.Forms[i], nil
			default:
				forms = append(forms, f)
			}
		}
	}
	name := spec.Connector
	if push {
		name += " with mode push"
	}
	if len(forms) == 0 {
		return nil, nil, fmt.Errorf("unknown kv_transfer %s; use one of %s", name, strings.Join(t.names(), ", "))
	}
	return nil, nil, fmt.Errorf("%s needs %s (server %q states %s)", name, strings.Join(spans(forms), ", or "), m.Name, stated(m))
}

// spans lists the releases that have one of the forms, and merges consecutive ranges.
func spans(forms []Form) []string {
	var out []string
	for i := 0; i < len(forms); i++ {
		span := forms[i]
		for i+1 < len(forms) && forms[i+1].Engine == span.Engine && forms[i+1].From == next(span.To) {
			i++
			span.To = forms[i].To
		}
		out = append(out, span.releases())
	}
	return out
}

// next returns the release after one: 0.16 after 0.15.
func next(release string) string {
	dot := strings.LastIndexByte(release, '.')
	n, err := strconv.Atoi(release[dot+1:])
	if err != nil {
		return ""
	}
	return release[:dot+1] + strconv.Itoa(n+1)
}

// within reports whether a version lies between two releases, both included: 0.23.1 is within 0.23. An empty
// bound is open. A version that is not a release ("", "nightly", a commit) counts as the newest.
func within(version, from, to string) bool {
	version = strings.TrimSpace(version)
	if !steps.IsRelease(version) {
		return to == ""
	}
	return (from == "" || steps.CompareReleases(version, from) >= 0) && (to == "" || steps.CompareReleases(version, next(to)) < 0)
}

func stated(m *Member) string {
	if m.Spec.Version == "" {
		return m.engine().title + " without a version, which means the newest"
	}
	return m.engine().title + " " + m.Spec.Version
}

// releases formats the releases that have this form, for messages.
func (f Form) releases() string {
	name := engineNamed(f.Engine).title
	switch {
	case f.From == "" && f.To == "":
		return name
	case f.To == "":
		return name + " " + f.From + " or later"
	case f.From == f.To:
		return name + " " + f.From + ".x"
	}
	return name + " " + f.From + " to " + f.To
}

// class returns the engine's name of the connector for a transfer.
func (f Form) class(t steps.TransferSpec) string {
	switch {
	case f.Class == "":
		return text(t.Options["connector"])
	case f.ClassTCP != "" && t.Transport == TCP:
		return f.ClassTCP
	}
	return f.Class
}

// hint returns what would make the connector's library show the transport that it used.
func (c *Connector) hint() string {
	if c != nil {
		for _, f := range c.Forms {
			if f.Library != nil {
				return f.Library.hint
			}
		}
	}
	return "counters of the network devices would"
}
