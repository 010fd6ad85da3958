package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// pullSilence is how long a pull may produce no output before it counts as hung.
const pullSilence = 10 * time.Minute

// Image is an image as resolved when its name was first used.
type Image struct {
	// Ref is the name in the file, ID the hash of the image's configuration, and Digest the name with the
	// registry's digest, "" for an image built here.
	Ref, ID, Digest string
}

// reference is an image's name in parts: registry/path, and a tag or digest.
type reference struct{ repository, tag, digest string }

// imageName matches names that Docker's reference grammar allows and that are safe in the path of a request.
var imageName = lazyregexp.New(`^[A-Za-z0-9]+([._:/@+-]+[A-Za-z0-9_]+)*$`)

// checkImageName rejects invalid image names.
func checkImageName(name string) error {
	if !imageName.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "//") {
		return fmt.Errorf("%q is not the name of an image; write NAME:TAG, NAME@sha256:DIGEST or sha256:ID", name)
	}
	return nil
}

// parseReference splits name[:tag][@digest]. A digest overrides the tag.
func parseReference(ref string) reference {
	name, digest, _ := strings.Cut(ref, "@")
	r := reference{repository: name, digest: digest}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		r.repository, r.tag = name[:i], name[i+1:]
	}
	if r.tag == "" && digest == "" {
		r.tag = "latest"
	}
	return r
}

// canonical returns the name with the digest, else with the tag.
func (r reference) canonical() string {
	if r.digest != "" {
		return r.repository + "@" + r.digest
	}
	return r.repository + ":" + r.tag
}

// registry returns the host part, "docker.io" without one.
func (r reference) registry() string {
	host, _, found := strings.Cut(r.repository, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return "docker.io"
	}
	return host
}

// images resolves each name once, so that both sides get the same image even if a tag moves between two
// launches.
type images struct {
	mu    sync.Mutex
	known map[string]Image
}

// resolve returns the image of a spec, and pulls it according to its policy.
func (l *Launcher) resolve(ctx context.Context, c *steps.ContainerSpec) (Image, error) {
	l.images.mu.Lock()
	defer l.images.mu.Unlock()
	key := c.Platform + " " + c.Image
	if image, ok := l.images.known[key]; ok {
		return image, nil
	}
	image, err := l.provide(ctx, c)
	if err != nil {
		return Image{}, err
	}
	if l.images.known == nil {
		l.images.known = map[string]Image{}
	}
	l.images.known[key] = image
	return image, nil
}

// provide inspects the image, after pulling it if necessary.
func (l *Launcher) provide(ctx context.Context, c *steps.ContainerSpec) (Image, error) {
	if err := checkImageName(c.Image); err != nil {
		return Image{}, err
	}
	if strings.HasPrefix(c.Image, "sha256:") {
		image, err := l.daemon.inspectImage(ctx, c.Image, c.Image)
		if status(err) == http.StatusNotFound {
			err = fmt.Errorf("there is no image %s: an ID names only images that the daemon has; name it by its repository", c.Image)
		}
		return image, err
	}
	ref := parseReference(c.Image)
	pull := c.Pull == steps.PullAlways && ref.digest == ""
	if !pull {
		image, err := l.daemon.inspectImage(ctx, c.Image, ref.canonical())
		if err == nil || status(err) != http.StatusNotFound {
			return image, err
		}
		if c.Pull == steps.PullNever {
			return Image{}, fmt.Errorf("image %s is not on the machine, and pull is %q; build or load it first", c.Image, c.Pull)
		}
	}
	if err := l.pull(ctx, ref, c.Platform); err != nil {
		return Image{}, fmt.Errorf("pulling image %s: %w", c.Image, err)
	}
	return l.daemon.inspectImage(ctx, c.Image, ref.canonical())
}

func (l *Launcher) pull(ctx context.Context, ref reference, platform string) error {
	auth, err := l.credentials(ref.registry())
	if err != nil {
		return err
	}
	tag := ref.tag
	if ref.digest != "" {
		tag = ref.digest
	}
	l.opt.Log.Info("pulling image", "image", ref.canonical())
	err = l.daemon.pool.Client.PullImage(dc.PullImageOptions{
		Repository: ref.repository, Tag: tag, Platform: platform,
		OutputStream: io.Discard, InactivityTimeout: pullSilence, Context: ctx,
	}, auth)
	if errors.Is(err, dc.ErrInactivityTimeout) {
		return fmt.Errorf("the registry sent nothing for %s; pull the image before the run", pullSilence)
	}
	if err != nil && auth.Username == "" && looksDenied(err) {
		return fmt.Errorf("%w; if it is private, log in to %s or give credentials", err, ref.registry())
	}
	return err
}

func looksDenied(err error) bool {
	s := err.Error()
	return strings.Contains(s, "denied") || strings.Contains(s, "unauthorized") || strings.Contains(s, "authentication required")
}

// inspectImage returns an image by name or ID.
func (d *daemon) inspectImage(ctx context.Context, ref, name string) (Image, error) {
	var found struct {
		ID          string `json:"Id"`
		RepoDigests []string
	}
	if err := d.get(ctx, "/images/"+name+"/json", nil, &found); err != nil {
		return Image{}, fmt.Errorf("inspecting image %s: %w", ref, err)
	}
	image := Image{Ref: ref, ID: found.ID}
	repository := parseReference(name).repository
	for _, digest := range found.RepoDigests {
		if image.Digest == "" || strings.HasPrefix(digest, repository+"@") {
			image.Digest = digest
		}
	}
	return image, nil
}
