package dockerhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/steps/docker"
)

// learning masks credentials from the moment they are read.
func learning(redact *event.Redactor, find func(string) (docker.Credentials, error)) func(string) (docker.Credentials, error) {
	return func(registry string) (docker.Credentials, error) {
		c, err := find(registry)
		redact.Learn(c.Password, c.IdentityToken)
		return c, err
	}
}

// registryCredentials reads docker login's file on each request.
func registryCredentials(getenv func(string) string) func(string) (docker.Credentials, error) {
	return func(registry string) (docker.Credentials, error) {
		dir := getenv("DOCKER_CONFIG")
		if dir == "" {
			dir = filepath.Join(getenv("HOME"), ".docker")
		}
		f, err := os.Open(filepath.Join(dir, "config.json"))
		if errors.Is(err, fs.ErrNotExist) {
			return docker.Credentials{}, nil
		}
		if err != nil {
			return docker.Credentials{}, err
		}
		defer func() { _ = f.Close() }() // opened for reading only
		find, err := docker.CredentialsFrom(f)
		if err != nil {
			return docker.Credentials{}, err
		}
		return find(registry)
	}
}
