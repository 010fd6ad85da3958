package judge

import (
	"fmt"

	"github.com/servegate/pipeline/reports/result"
)

// blocks names the nodes of each repeat where not all had the same; nil where they had.
func blocks(runs []result.Run) map[int]string {
	at, differ := map[int]string{}, false
	for _, r := range runs {
		at[r.Pair()] = r.Nodes
		differ = differ || r.Nodes != runs[0].Nodes
	}
	if !differ {
		return nil
	}
	return at
}

// otherNodes is set when the sides of a repeat ran on different nodes of a cluster: what
// differs between the nodes would be taken for a difference of the sides.
func otherNodes(base, head *result.Cell) (first doubt) {
	nodes := map[int]string{}
	for _, r := range base.Current() {
		if r.Status == result.RunOK {
			nodes[r.Pair()] = r.Nodes
		}
	}
	for _, r := range head.Current() {
		if b, both := nodes[r.Pair()]; both && r.Status == result.RunOK && b != r.Nodes {
			first = earliest(first, doubt{fmt.Sprintf("the sides of repeat %d ran on different nodes (%s and %s)", r.Pair(), orHere(b), orHere(r.Nodes)), r.Pair()})
		}
	}
	return first
}

func orHere(nodes string) string {
	if nodes == "" {
		return "this machine"
	}
	return nodes
}
