package kv

import "slices"

// engine describes what an engine needs in a deployment, independent of the connector.
type engine struct {
	name, title string
	// oneEnd means that a server either prefills or decodes, never both.
	oneEnd bool
	// httpSpacing is the number of ports that a server uses from its port on.
	httpSpacing int
	// ports returns what a server among several needs. pin sets the port with the purpose pinned, which the
	// engine would otherwise search for itself.
	ports  func(*Member) ([]PortNeed, error)
	pinned string
	pin    func(*Writer)
	// write turns the connectors of a transfer into arguments.
	write func(*Writer)
	// checkTransfer and checkArgs find contradictions to the transfer.
	checkTransfer func(part) error
	checkArgs     func(*Layout, *Member) error
	// counters maps our counter names to the engine's.
	counters map[string][]string
	// blockSizes are the names under which a server reports the number of tokens in a KV block.
	blockSizes []string
	// gauge means that the byte count is a gauge of recent transfers, which may stay constant.
	gauge bool
	// silent returns what would prove a transfer in a release without transfer counters, "" for nothing
	// specific.
	silent func(version string) string
	// lines are the log lines that show transfers.
	lines []Line
}

// engines lists the engines whose servers can be joined.
var engines = []*engine{vllm, sglang}

// engineNamed returns an engine by name; an unknown one has only its name.
func engineNamed(name string) *engine {
	i := slices.IndexFunc(engines, func(e *engine) bool { return e.name == name })
	if i < 0 {
		return &engine{name: name, title: name}
	}
	return engines[i]
}

func (m *Member) engine() *engine { return engineNamed(m.Spec.Engine) }
