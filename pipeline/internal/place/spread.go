package place

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// Part is one process of a server: all of it, or that of one node.
type Part struct {
	// Member as the file declares it. The first part of a server has the server's name,
	// others that of their node behind it.
	steps.Member
	Server int // the server's index among the target's
	Rank   int // of the node among the server's
}

// Spread lists the processes of servers: one, or for one that is spread over nodes as many
// as it has nodes, each with its share of the GPUs.
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
				p.Spec.Port = 0 // the one of the file is that which answers
			}
			out = append(out, p)
		}
	}
	return out
}

// nodeName names the process of a node. A server that is the whole target has no name but
// its address.
func nodeName(server string, rank int) string {
	switch {
	case server == "":
		return fmt.Sprintf("node%d", rank)
	case rank == 0:
		return server
	}
	return fmt.Sprintf("%s.node%d", server, rank)
}
