package steps

// Spreader is an [Engine] whose servers can be spread over nodes: one process on each. The processes connect
// while they start, and fail together. The first one serves for all.
type Spreader interface {
	// RenderNode renders the process of one node of a server with spec.Nodes above 1.
	RenderNode(spec ServerSpec, at NodePlace) (Process, error)
}

// MaxNodes is the upper limit of the nodes of a job and of a server.
const MaxNodes = 1024

// NodePlace is one node of a server that is spread over nodes.
type NodePlace struct {
	// Rank of the node among the server's nodes, from 0. Rank 0 serves.
	Rank int
	// Host is the address at which the other nodes reach this one, Head the address of the first node.
	Host, Head string
	// Rendezvous is the port of the first node to which all connect.
	Rendezvous Port
	// Listen and Port are the address and port on which the process listens. Nodes other than the first use
	// at most a port for health checks.
	Listen string
	Port   Port
}

// Spread reports whether the server has a process on each of several nodes.
func (s ServerSpec) Spread() bool { return s.Nodes > 1 && s.URL == "" }
