package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ory/dockertest/v3/docker/pkg/archive"
)

// BuildOptions say what [Build] builds. Dir and Tag are required.
type BuildOptions struct {
	// Host of the daemon, as in [Options].
	Host string
	// Dir is the context: all of it but what .dockerignore names goes to the daemon.
	Dir string
	// Dockerfile inside Dir, "Dockerfile" unless set.
	Dockerfile string
	// Tag is the image's name.
	Tag string
	// Args are build arguments. They stay readable in the image's history: no secrets.
	Args map[string]string
	// Target is the stage to build, the last one unless set.
	Target string
	// Platform such as linux/arm64, the daemon's own unless set.
	Platform string
	// Labels of the image.
	Labels map[string]string
	// NoCache builds every step again; Pull fetches newer base images.
	NoCache, Pull bool
	// Log receives what the build prints.
	Log io.Writer
}

// Build builds an image from a Dockerfile and returns its ID. It uses the daemon's classic
// builder, which needs nothing but the daemon: no BuildKit features such as RUN --mount.
func Build(ctx context.Context, opt BuildOptions) (id string, err error) {
	if opt.Dir == "" || opt.Tag == "" {
		return "", errors.New("build: a folder and a tag are needed")
	}
	if opt.Dockerfile == "" {
		opt.Dockerfile = "Dockerfile"
	}
	if !filepath.IsLocal(opt.Dockerfile) {
		return "", fmt.Errorf("build %s: dockerfile %s is not inside of %s", opt.Tag, opt.Dockerfile, opt.Dir)
	}
	if err := checkImageName(opt.Tag); err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	if _, err := os.Stat(filepath.Join(opt.Dir, opt.Dockerfile)); err != nil {
		return "", fmt.Errorf("build %s: %w", opt.Tag, err)
	}
	d, err := connect(opt.Host)
	if err != nil {
		return "", err
	}
	excluded, err := dockerignore(opt.Dir)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", opt.Tag, err)
	}
	if len(excluded) > 0 {
		// What the daemon needs is sent even if it is ignored.
		excluded = append(excluded, "!"+filepath.ToSlash(opt.Dockerfile), "!.dockerignore")
	}
	files, err := archive.TarWithOptions(opt.Dir, &archive.TarOptions{ExcludePatterns: excluded})
	if err != nil {
		return "", fmt.Errorf("build %s: reading %s: %w", opt.Tag, opt.Dir, err)
	}
	defer func() { _ = files.Close() }()
	id, err = d.build(ctx, opt, files)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", opt.Tag, err)
	}
	return id, nil
}

// dockerignore reads the patterns of a context.
func dockerignore(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, ".dockerignore"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var patterns []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			patterns = append(patterns, line)
		}
	}
	return patterns, err
}

// build sends a context and returns the image's ID.
func (d *daemon) build(ctx context.Context, opt BuildOptions, files io.Reader) (string, error) {
	query, err := opt.query()
	if err != nil {
		return "", err
	}
	resp, err := d.call(ctx, http.MethodPost, "/build", query, "application/x-tar", files)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	log := opt.Log
	if log == nil {
		log = io.Discard
	}
	if err := readBuild(resp.Body, log); err != nil {
		return "", err
	}
	image, err := d.inspectImage(ctx, opt.Tag, opt.Tag)
	return image.ID, err
}

func (o BuildOptions) query() (url.Values, error) {
	query := url.Values{"t": {o.Tag}, "dockerfile": {filepath.ToSlash(o.Dockerfile)}, "rm": {"1"}, "forcerm": {"1"}, "version": {"1"}}
	for name, m := range map[string]map[string]string{"buildargs": o.Args, "labels": o.Labels} {
		if len(m) == 0 {
			continue
		}
		data, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		query.Set(name, string(data))
	}
	for name, value := range map[string]string{"target": o.Target, "platform": o.Platform} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if o.NoCache {
		query.Set("nocache", "1")
	}
	if o.Pull {
		query.Set("pull", "1")
	}
	return query, nil
}

// readBuild copies the builder's output and returns the error that ended it.
func readBuild(r io.Reader, log io.Writer) error {
	dec := json.NewDecoder(r)
	for {
		var message struct{ Stream, Status, Error string }
		err := dec.Decode(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the builder's output: %w", err)
		}
		if message.Error != "" {
			return errors.New(strings.TrimSpace(message.Error))
		}
		text := message.Stream
		if text == "" && message.Status != "" {
			text = message.Status + "\n"
		}
		if _, err := io.WriteString(log, text); err != nil {
			return fmt.Errorf("writing the log: %w", err)
		}
	}
}
