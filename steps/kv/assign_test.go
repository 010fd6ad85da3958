package kv_test

import (
	"fmt"

	"github.com/servegate/pipeline/steps/kv"
)

// assign chooses a port for every need of one host: those that the file asks for, then
// free ones between first and last, far enough apart. free reports whether a port can be
// had; it is asked for each port once that nothing else of the launch gets.
func assign(needs []kv.PortNeed, first, last int, free func(port int) bool) (map[kv.Port]int, error) {
	ports := map[kv.Port]int{}
	var kept [][2]int // spans that nothing else may get
	for _, n := range needs {
		if n.Fixed != 0 {
			ports[n.Port] = n.Fixed
			kept = append(kept, [2]int{n.Fixed, n.Fixed + n.Count})
		}
	}
	for _, n := range needs {
		if n.Fixed != 0 {
			continue
		}
		at, ok := findRow(n, first, last, kept, free)
		if !ok {
			return nil, fmt.Errorf("no %d free ports in a row between %d and %d for %s of %s; stop what listens there", n.Count, first, last,
				n.Purpose, n.Process)
		}
		ports[n.Port] = at
		kept = append(kept, [2]int{at, at + n.Spacing})
	}
	return ports, nil
}

// findRow finds the lowest start of a need that touches no kept span and has free ports.
func findRow(n kv.PortNeed, first, last int, kept [][2]int, free func(int) bool) (int, bool) {
search:
	for at := first; at+n.Spacing-1 <= last; {
		for _, k := range kept {
			if at < k[1] && k[0] < at+n.Spacing {
				at = k[1]
				continue search
			}
		}
		for i := range n.Count {
			if !free(at + i) {
				at += i + 1
				continue search
			}
		}
		return at, true
	}
	return 0, false
}
