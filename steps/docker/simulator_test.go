package docker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/docker"
)

func TestSimulatorImageIsRefused(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{script: "is not a Linux program", filepath.Join(dir, "none"): "no such file"} {
		if _, err := docker.SimulatorImage(context.Background(), "unix:///none", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
