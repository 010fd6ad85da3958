package machine

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
)

// EndStrays ends what servers and steps started outside of their own process group, which
// stopping them does not reach, and says so: such a process would have gone on using the
// machine under the next launch.
func EndStrays() []string {
	var out []string
	for _, p := range spawn.FindStrays() {
		what := fmt.Sprintf("process %d (%s) had left the group of its server", p.PID, strings.Join(p.Argv, " "))
		if _, err := spawn.KillOrphan(p.PID, p.StartTime); err != nil {
			out = append(out, fmt.Sprintf("%s and could not be ended: %v", what, err))
			continue
		}
		out = append(out, what+" and was ended")
	}
	return out
}
