package kubernetes

import (
	"testing"

	core "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"
)

// A webhook can put a container beside ours, and the API server then wants to know whose log it is.
func TestLogsNameTheContainer(t *testing.T) {
	r := started(t)
	client := newFake()
	r.client = client
	_, _ = r.logs("p", &core.PodLogOptions{}).DoRaw(t.Context()) // of a fake Pod
	for _, a := range client.Actions() {
		if g, ok := a.(clienttesting.GenericAction); ok {
			if opt, ok := g.GetValue().(*core.PodLogOptions); ok && opt.Container == containerName {
				return
			}
		}
	}
	t.Errorf("no log of %s was asked for: %v", containerName, client.Actions())
}
