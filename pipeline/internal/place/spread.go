package place

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// Part is one process of a server: the whole server, or its part on one node.
type Part struct {
	// Member as declared in the file. The first part of a server has the server's name; the others append their
	// node.
	steps.Member
	Server int // index of the server in the target
	Rank   int // of the node within the server
}

// Spread lists the processes of servers: one each, or one per node if spread over nodes, each with its share of
// the GPUs.
func Spread(members []steps.Member) []Part {
	var out []Part
	for i, m := range members {
		if !m.Spec.Spread() {
			out = append(out, Part{Member: m, Server: i})
			continue
		}
		for rank := range m.Spec.Nodes {
			p := Part{Member: m, Server: i, Rank: rank}
			p.Name = nodeName(m.Name, rank)
			p.Spec.Node += rank
			p.Spec.GPUs /= m.Spec.Nodes
			if rank > 0 {
				p.Spec.Port = 0 // only the first node uses the file's port
			}
			out = append(out, p)
		}
	}
	return out
}

// nodeName returns the name of a node's process. A server that is the whole target has no name.
func nodeName(server string, rank int) string {
	switch {
	case server == "":
		return fmt.Sprintf("node%d", rank)
	case rank == 0:
		return server
	}
	return fmt.Sprintf("%s.node%d", server, rank)
}
