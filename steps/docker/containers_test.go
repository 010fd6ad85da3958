package docker

import (
	"encoding/json"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/containertest"
)

func TestContainersOfTheDaemon(t *testing.T) {
	l := &Launcher{daemon: &daemon{address: "127.0.0.1"}}
	containertest.Column(t, Containers(Allow{Privileged: true}), func(c *steps.ContainerSpec) string {
		argv := append(c.Entrypoint, "vllm", "serve")
		request, err := l.createRequest(steps.Process{Name: "s", Argv: argv, Port: 8000, Container: c}, c.Image)
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}, "pull", "platform") // of the pull
}
