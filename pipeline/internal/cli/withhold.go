package cli

import (
	"os"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/secret"
)

// withhold hides the environment's secrets from libraries that read it and from programs that this program starts.
//
// A program of the same user can read its parent's environment and memory in /proc. withhold therefore closes this
// process to other programs of its user. It also overwrites secrets in the kernel's block of the environment, which
// keeps its initial content when a variable is unset. A program that another process of this program started stays
// readable to that process, which finds it by its environment. Steps that the system does not allow are skipped.
//
// It does not protect against programs that run as root or may trace any process. Run untrusted servers as another
// user or in containers.
func withhold(environ []string) {
	_ = forgetEnvironment()
	if spawn.Getenv(environ)(spawn.MarkVar) == "" {
		_ = closeProcess()
	}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); secret.Private(name) || secret.Name(name) && len(secret.Values(name, value)) > 0 {
			_ = os.Unsetenv(name)
		}
	}
}
