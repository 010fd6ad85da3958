package machine

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
)

// EndStrays ends processes that servers and steps started outside their process group, and returns a
// description of each. Stopping the group does not reach them, and they would disturb the next launch.
func EndStrays() []string {
	var out []string
	ended, err := spawn.EndStrays()
	for _, p := range ended {
		out = append(out, fmt.Sprintf("process %d (%s) had left the group of its server and was ended", p.PID, p.Command()))
	}
	if err != nil {
		out = append(out, fmt.Sprintf("a process that had left the group of its server could not be ended: %v", err))
	}
	return out
}

// EndLeft ends the processes that killed programs left on this machine, by owner, and returns them. It ends
// nothing if no owner is named.
func EndLeft(owners []string) ([]string, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	ended, err := spawn.EndOrphans(owners...)
	out := make([]string, len(ended))
	for i, p := range ended {
		out[i] = fmt.Sprintf("%d (%s)", p.PID, p.Command())
	}
	return out, err
}
