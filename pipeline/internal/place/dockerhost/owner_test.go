package dockerhost

import (
	"testing"

	"github.com/servegate/pipeline/steps/probe"
)

func TestOwnerByGroup(t *testing.T) {
	const id = "8c1d2e3f8c1d2e3f8c1d2e3f8c1d2e3f8c1d2e3f8c1d2e3f8c1d2e3f8c1d2e3f"
	for name, tt := range map[string]struct {
		group string
		known bool
		want  probe.Owner
	}{
		"ours":                 {"0::/system.slice/docker-" + id + ".scope\n", true, probe.OwnerUs},
		"another container":    {"0::/system.slice/docker-0000.scope\n", true, probe.OwnerForeign},
		"no container":         {"0::/user.slice/user-1000.slice\n", true, probe.OwnerForeign},
		"the daemon is silent": {"0::/user.slice\n", false, probe.OwnerUnknown},
		"it cannot be read":    {"", true, probe.OwnerUnknown},
	} {
		if got := ownerByGroup(tt.group, []string{"", id}, tt.known); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
