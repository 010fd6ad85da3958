package docker

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

func TestParseReference(t *testing.T) {
	for in, want := range map[string][3]string{ // canonical, registry, tag
		"vllm/vllm-openai":                     {"vllm/vllm-openai:latest", "docker.io", "latest"},
		"vllm/vllm-openai:v0.11.0":             {"vllm/vllm-openai:v0.11.0", "docker.io", "v0.11.0"},
		"vllm/vllm-openai@sha256:ab":           {"vllm/vllm-openai@sha256:ab", "docker.io", ""},
		"vllm/vllm-openai:v0.11.0@sha256:ab":   {"vllm/vllm-openai@sha256:ab", "docker.io", "v0.11.0"},
		"registry.example:5000/a/b":            {"registry.example:5000/a/b:latest", "registry.example:5000", "latest"},
		"localhost/x:1":                        {"localhost/x:1", "localhost", "1"},
		"registry.example:5000/a/b@sha256:00f": {"registry.example:5000/a/b@sha256:00f", "registry.example:5000", ""},
	} {
		r := parseReference(in)
		if got := [3]string{r.canonical(), r.registry(), r.tag}; got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestPull(t *testing.T) {
	const digest = "other/engine@sha256:22"
	for name, tt := range map[string]struct {
		spec  steps.ContainerSpec
		pulls string // the query of the pull, "" for none
		err   string
	}{
		"there":          {spec: steps.ContainerSpec{Image: "engine:v1"}},
		"there, always":  {spec: steps.ContainerSpec{Image: "engine:v1", Pull: steps.PullAlways}, pulls: "fromImage=engine&tag=v1"},
		"missing":        {spec: steps.ContainerSpec{Image: "engine"}, pulls: "fromImage=engine&tag=latest"},
		"missing, never": {spec: steps.ContainerSpec{Image: "engine:v2", Pull: steps.PullNever}, err: "build or load it first"},
		"missing digest": {spec: steps.ContainerSpec{Image: digest}, pulls: "fromImage=other%2Fengine&tag=sha256%3A22"},
		"tag and digest": {spec: steps.ContainerSpec{Image: "other/engine:v9@sha256:22", Platform: "linux/arm64"},
			pulls: "fromImage=other%2Fengine&platform=linux%2Farm64&tag=sha256%3A22"},
		"digest, always":    {spec: steps.ContainerSpec{Image: "known@sha256:22", Pull: steps.PullAlways}},
		"ID":                {spec: steps.ContainerSpec{Image: dockertest.ImageID}},
		"ID that is nobody": {spec: steps.ContainerSpec{Image: "sha256:9999"}, err: "there is no image sha256:9999"},
	} {
		t.Run(name, func(t *testing.T) {
			f := dockertest.New(t)
			f.Images["known@sha256:22"], f.Images[dockertest.ImageID] = true, true
			l := launcherOf(t, f, Options{})
			for range 2 { // the second launch takes what the first one found
				image, err := l.resolve(context.Background(), &tt.spec)
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("got %v", err)
					}
					continue
				}
				if err != nil || image.ID != dockertest.ImageID || image.Ref != tt.spec.Image {
					t.Errorf("got %+v, %v", image, err)
				}
			}
			got := f.Seen("/images/create")
			if tt.pulls == "" && len(got) != 0 || tt.pulls != "" && (len(got) != 1 || got[0] != "POST /images/create?"+tt.pulls) {
				t.Errorf("pulls %q, want %q", got, tt.pulls)
			}
		})
	}
}

func TestPullWithCredentials(t *testing.T) {
	f := dockertest.New(t)
	auth := base64.StdEncoding.EncodeToString([]byte("me:pw"))
	creds, err := CredentialsFrom(strings.NewReader(`{"auths":{"registry.example:5000":{"auth":"` + auth +
		`"},"https://index.docker.io/v1/":{"auth":"` + auth + `"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	l := launcherOf(t, f, Options{Credentials: creds})
	for _, image := range []string{"registry.example:5000/private:1", "hub/private:1", "other.example/public:1"} {
		if _, err := l.resolve(context.Background(), &steps.ContainerSpec{Image: image}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{`"username":"me"`, `"username":"me"`, `"serveraddress":"other.example"`} {
		sent, err := base64.URLEncoding.DecodeString(f.Headers[i].Get("X-Registry-Auth"))
		if err != nil || !strings.Contains(string(sent), want) {
			t.Errorf("pull %d: credentials %s, %v", i, sent, err)
		}
	}
	if len(f.Seen("pw")) != 0 {
		t.Error("a password is in an address")
	}
	l.opt.Credentials = func(string) (Credentials, error) { return Credentials{}, errors.New("locked") }
	if _, err := l.resolve(context.Background(), &steps.ContainerSpec{Image: "a/b:2"}); err == nil ||
		!strings.Contains(err.Error(), "credentials of docker.io: locked") {
		t.Errorf("got %v", err)
	}
	if _, err := CredentialsFrom(strings.NewReader("{")); err == nil {
		t.Error("half a file is read")
	}
}

// Entries without a secret, as credential helpers leave them, are no credentials.
func TestCredentialsElsewhere(t *testing.T) {
	for _, config := range []string{`{}`, `{"credsStore":"desktop"}`, `{"auths":{},"credsStore":"desktop"}`,
		`{"auths":{"https://index.docker.io/v1/":{}},"credsStore":"desktop"}`} {
		creds, err := CredentialsFrom(strings.NewReader(config))
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if c, err := creds("docker.io"); err != nil || c != (Credentials{}) {
			t.Errorf("%s: %v, %v", config, c, err)
		}
	}
}

func TestPullIsDenied(t *testing.T) {
	f := dockertest.New(t)
	f.Fail["POST /images/create"] = "pull access denied"
	if _, err := launcherOf(t, f, Options{}).resolve(context.Background(), &steps.ContainerSpec{Image: "a/b"}); err == nil ||
		!strings.Contains(err.Error(), "log in to docker.io") {
		t.Errorf("got %v", err)
	}
}

func TestCheckImageName(t *testing.T) {
	for _, name := range []string{"a", "vllm/vllm-openai:v0.6.4.post1", "ghcr.io/a/b@sha256:00ff", "localhost:5000/a__b/c-d:1_2",
		"sha256:00ff", "rocm/vllm:rocm6.4+x"} {
		if err := checkImageName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "/a", "a/../b", "a//b", "a?x=1", "a#b", "a b", "a%2fb", "-a", "a/", "a\n"} {
		if checkImageName(name) == nil {
			t.Errorf("%q counts as a name", name)
		}
	}
}
