package steps

// Spreader is an [Engine] whose servers can be spread over nodes: one process on each of
// them, which meet while they start and have a common fate. The first answers for all.
type Spreader interface {
	// RenderNode renders the process of one node of a server with spec.Nodes above 1.
	RenderNode(spec ServerSpec, at NodePlace) (Process, error)
}

// MaxNodes bounds the nodes of a job, and of a server: more would not be one deployment.
const MaxNodes = 1024

// NodePlace is one node of a server that is spread over nodes.
type NodePlace struct {
	// Rank of the node among those of the server, from 0: the first answers.
	Rank int
	// Host is the address at which the other nodes reach this one, Head that of the first.
	Host, Head string
	// Rendezvous is the port of the first node to which all connect.
	Rendezvous Port
	// Listen and Port are what the process listens on. Of the others than the first that is
	// at most a port for their own health.
	Listen string
	Port   Port
}

// Spread reports whether the server has a process on each of several nodes.
func (s ServerSpec) Spread() bool { return s.Nodes > 1 && s.URL == "" }
