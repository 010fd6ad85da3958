package judge

import "github.com/servegate/pipeline/reports/result"

// blocks returns the nodes of each repeat, nil if all repeats ran on the same nodes.
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
