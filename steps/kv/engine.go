package kv

import "slices"

// engine is what an engine wants of the servers of a deployment, whatever connector joins them.
type engine struct {
	name, title string
	// oneEnd: a server prefills or decodes, never both.
	oneEnd bool
	// httpDefault is the engine's own port; from it on it takes httpSpacing ports.
	httpDefault, httpSpacing int
	// ports that a server of several needs. Those of the pinned purpose are pinned: the engine
	// would look for them by itself.
	ports  func(*Member) ([]PortNeed, error)
	pinned string
	pin    func(*Writer)
	// write turns the connectors of a transfer into arguments.
	write func(*Writer)
	// checkTransfer and checkArgs find what contradicts that.
	checkTransfer func(part) error
	checkArgs     func(*Layout, *Member) error
	// counters are the engine's own names of those that have one of ours.
	counters map[string][]string
	// blockSizes are the names under which a server reports how many tokens a block of its KV
	// cache holds.
	blockSizes []string
	// gauge means that the count of bytes is one of the last transfers, and can stand still.
	gauge bool
	// silent says what would prove a movement where a release counts none, "" for nothing of
	// its own.
	silent func(version string) string
	// lines of a log that show transfers.
	lines []Line
}

// engines that can be joined.
var engines = []*engine{vllm, sglang}

// engineNamed is an engine's row; one that is not known has its name alone.
func engineNamed(name string) *engine {
	i := slices.IndexFunc(engines, func(e *engine) bool { return e.name == name })
	if i < 0 {
		return &engine{name: name, title: name}
	}
	return engines[i]
}

func (m *Member) engine() *engine { return engineNamed(m.Spec.Engine) }
