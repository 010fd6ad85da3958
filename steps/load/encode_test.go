package load

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

// TestEndpointsHavePaths: what a workload can call has a path.
func TestEndpointsHavePaths(t *testing.T) {
	for _, name := range steps.Endpoints.Names() {
		if e, err := parseEndpoint(name); err != nil || e.path() == "" {
			t.Errorf("%s: path %q, %v", name, e.path(), err)
		}
	}
	if len(endpoints) != len(steps.Endpoints) {
		t.Errorf("%d endpoints have a path, and a workload can call %d", len(endpoints), len(steps.Endpoints))
	}
	if _, err := parseEndpoint("generat"); err == nil {
		t.Error("an unknown endpoint is taken")
	}
}
