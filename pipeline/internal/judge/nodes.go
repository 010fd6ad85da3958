package judge

import "github.com/servegate/pipeline/reports/result"

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
