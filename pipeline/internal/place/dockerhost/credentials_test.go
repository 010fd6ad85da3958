package dockerhost

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/docker"
)

func TestRegistryCredentials(t *testing.T) {
	dir := t.TempDir()
	find := registryCredentials(spawn.Getenv([]string{"HOME=/nowhere", "DOCKER_CONFIG=/old", "DOCKER_CONFIG=" + dir}))
	if c, err := find("docker.io"); err != nil || c != (docker.Credentials{}) {
		t.Errorf("without a file: %v, %v", c, err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"auths":{"registry.example":{"auth":"bWU6cHc="}}}`)
	if c, err := find("registry.example"); err != nil || c != (docker.Credentials{Username: "me", Password: "pw"}) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := find("docker.io"); err != nil || c != (docker.Credentials{}) {
		t.Errorf("another registry: %v, %v", c, err)
	}
	write("{")
	if _, err := find("docker.io"); err == nil {
		t.Error("half a file is read")
	}
}
