package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Connector is one way to move KV caches between servers. Its value is all that there is of
// it: the language reads its block, this package renders and proves it, the router learns its
// protocol, and the simulator plays it.
type Connector struct {
	// Name is ours, the kind of the kv_transfer block; an engine's own is that of a form.
	Name, Doc string
	// Transports that a file can ask for, none where KV goes another way, which Through names.
	Transports []string
	Through    string
	// Options are the block's arguments beyond those that all connectors have.
	Options []steps.Attr
	// Forms by engine and release, in the order of releases.
	Forms []Form
	// Lines of a log that show its transfers, beside those of its engine and its library.
	Lines []Line
	// Chunk is how many tokens of a prompt's end it may leave behind, where that is more than a block.
	Chunk int

	several bool // joins other connectors in a row
	foreign bool // hands the engine a connector that is not known here
}

// Form is a connector as one engine has it from one release to another. Everything that
// depends on the version is a form of its own.
type Form struct {
	Engine string
	// From and To are releases, both included; "" is open.
	From, To string
	// Class is the engine's own name of the connector, ClassTCP another one for TCP.
	Class, ClassTCP string
	// Push is the form in which the connector pushes by choice.
	Push bool
	// Unlisted forms are known to the simulator alone: files reach them through custom.
	Unlisted bool

	// Protocols of routers that fit, the usual one first; empty means all.
	Protocols []string
	// Announce is the purpose of the port that the router must know of a server, "" for none.
	Announce string
	// NoParams means that a prefill server answers without transfer parameters.
	NoParams bool

	// Services of which it needs one. AsksMetadata means that it asks a metadata server as well.
	Services     []string
	AsksMetadata bool
	// Buffer means that it has a transfer buffer of a size to choose.
	Buffer bool
	// Pair joins exactly one producer and one consumer.
	Pair bool
	// Shared servers can do both, and do where they have no role.
	Shared bool
	// ConsumersFirst: decode servers listen for the prefill servers.
	ConsumersFirst bool
	// Store keeps prefixes in a place that all servers share; none is handed over.
	Store bool
	// Nodes is the release from which servers of several nodes can use it, "" for none:
	// all ranks of a server are found through its first node then.
	Nodes string
	// DeviceFlag means that the engine's own flag names the devices.
	DeviceFlag bool

	// Library below it that moves the bytes, nil for none of its own.
	Library *Library
	// Ports that a server needs for it.
	Ports func(*Member) ([]PortNeed, error)
	// Config writes what it wants of a server.
	Config func(*Writer)
	// OwnFile reports whether a setting of config belongs into its own file.
	OwnFile func(setting string) bool
	// Play is how the simulator plays it.
	Play Play
}

// Table lists connectors. Values of this package that concern several of them take it from
// their caller, so that a table with one row more is all that a new connector needs.
type Table []Connector

// Connectors returns the table of all connectors: vLLM's of 0.6 to 0.33 and SGLang's of 0.5.
// What a form states without a place was read in the release's own source or in the pull
// request that brought or removed it.
func Connectors() Table {
	return Table{nixl, mooncake, mooncakeStore, p2pNCCL, pyNCCL, lmcache, multi, example, dummies, custom}
}

// find returns a connector by its name, nil for an unknown one.
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

// Class returns the form that an engine calls by this name in its version, nil if it has none.
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

// Classes lists the names by which an engine calls connectors that can be played.
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

// form returns the form of a connector that a member's engine has in its version.
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
		return nil, nil, fmt.Errorf("there is no kv_transfer %s; use one of %s", name, strings.Join(t.names(), ", "))
	}
	return nil, nil, fmt.Errorf("%s needs %s (server %q states %s)", name, strings.Join(spans(forms), ", or "), m.Name, stated(m))
}

// spans lists the releases that have one of the forms, those that follow each other as one.
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

// next is the release after one: 0.16 after 0.15.
func next(release string) string {
	dot := strings.LastIndexByte(release, '.')
	n, err := strconv.Atoi(release[dot+1:])
	if err != nil {
		return ""
	}
	return release[:dot+1] + strconv.Itoa(n+1)
}

// within reports whether a version is from one release to another, both included: 0.23.1 is in
// 0.23. An empty end is open. What is no release ("", "nightly", a commit) counts as the newest.
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

// releases that have this form, for messages.
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

// class is the engine's own name of the connector for a transfer.
func (f Form) class(t steps.TransferSpec) string {
	switch {
	case f.Class == "":
		return text(t.Options["connector"])
	case f.ClassTCP != "" && t.Transport == TCP:
		return f.ClassTCP
	}
	return f.Class
}

// hint says what the connector's library needs so that it shows what it took.
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
