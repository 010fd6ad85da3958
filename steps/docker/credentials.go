package docker

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	dc "github.com/ory/dockertest/v3/docker"
)

// Credentials of a registry. They are secret.
type Credentials struct {
	Username, Password string
	// IdentityToken, if set, replaces the password.
	IdentityToken string
}

// CredentialsFrom reads the auths of a config.json as docker login writes it. It does not start credential
// helpers; images that need one must be pulled beforehand.
func CredentialsFrom(config io.Reader) (func(registry string) (Credentials, error), error) {
	var file struct {
		Auths map[string]struct {
			Auth          []byte
			IdentityToken string
		}
	}
	if err := json.NewDecoder(config).Decode(&file); err != nil {
		return nil, fmt.Errorf("reading the credentials of registries: %w", err)
	}
	return func(registry string) (Credentials, error) {
		for _, name := range []string{registry, "https://" + registry, "https://" + registry + "/v1/", dockerHub(registry)} {
			if a := file.Auths[name]; len(a.Auth) > 0 || a.IdentityToken != "" {
				user, password, _ := strings.Cut(string(a.Auth), ":")
				return Credentials{Username: user, Password: password, IdentityToken: a.IdentityToken}, nil
			}
		}
		return Credentials{}, nil
	}, nil
}

// dockerHub returns the name under which docker login stores the credentials of docker.io.
func dockerHub(registry string) string {
	if registry == "docker.io" {
		return "https://index.docker.io/v1/"
	}
	return registry
}

func (l *Launcher) credentials(registry string) (dc.AuthConfiguration, error) {
	if l.opt.Credentials == nil {
		return dc.AuthConfiguration{}, nil
	}
	c, err := l.opt.Credentials(registry)
	if err != nil {
		return dc.AuthConfiguration{}, fmt.Errorf("credentials of %s: %w", registry, err)
	}
	return dc.AuthConfiguration{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken, ServerAddress: registry}, nil
}
