package cli

import (
	"os"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/secret"
)

// withhold keeps the secrets of the environment from the libraries that read it and from the programs that this one starts.
//
// A program of the same user reads the environment and the memory of its parent in /proc. So this process is closed to
// others of its user, and the block of its environment that the kernel shows, which stays as it was at the start whatever
// a program unsets, is overwritten where it holds a secret. A program that another of ours has started stays readable to
// that, which finds it by its environment. What the system does not allow stays as it is.
//
// It does not help against programs that run as root or may trace any process: run servers of others as another user, or in
// containers.
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
