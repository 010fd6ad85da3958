package docker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
)

// errInUse keeps an image of which a container was made since we looked.
var errInUse = errors.New("the image is in use")

// removeImage removes the name of an image, and with its last name the image.
func (d *daemon) removeImage(ctx context.Context, ref string) error {
	err := d.ask(ctx, http.MethodDelete, "/images/"+ref, nil, nil, nil)
	switch status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusConflict:
		return errInUse
	}
	return err
}

// markUsed makes the daemon note that an image was wanted now: it keeps the time of the
// last tag. [Filter].Unused goes by it.
func (d *daemon) markUsed(ctx context.Context, ref string) error {
	name := parseReference(ref)
	return d.pool.Client.TagImage(ref, dc.TagImageOptions{Repo: name.repository, Tag: name.tag, Context: ctx})
}

// unusedSimulators lists the images of the simulator that were not used since a time
// and of which there is no container.
func (d *daemon) unusedSimulators(ctx context.Context, since time.Time) ([]Leftover, error) {
	filters, err := json.Marshal(map[string][]string{"label": {LabelSimulator}})
	if err != nil {
		return nil, err
	}
	var images []struct {
		ID       string `json:"Id"`
		RepoTags []string
	}
	var containers []struct{ ImageID string }
	err = errors.Join(
		d.get(ctx, "/images/json", url.Values{"filters": {string(filters)}}, &images),
		d.get(ctx, "/containers/json", url.Values{"all": {"1"}}, &containers),
	)
	if err != nil {
		return nil, err
	}
	inUse := map[string]bool{}
	for _, c := range containers {
		inUse[c.ImageID] = true
	}
	var out []Leftover
	for _, i := range images {
		used, err := d.lastUsed(ctx, i.ID)
		if err != nil {
			return out, err
		}
		if inUse[i.ID] || used.IsZero() || !used.Before(since) {
			continue
		}
		for _, name := range ownNames(i.ID, i.RepoTags) {
			out = append(out, Leftover{Kind: kindImage, ID: name, Name: name})
		}
	}
	return out, nil
}

// ownNames are the names that have to go for an image to go: ours. Those that others gave it
// stay, and the image with them. Of two runs that build the same image at once one loses
// the name, so that an image without any is known by its ID.
func ownNames(id string, tags []string) []string {
	var own []string
	others := false
	for _, tag := range tags {
		switch {
		case strings.HasPrefix(tag, simulatorRepository+":"):
			own = append(own, tag)
		case tag != "<none>:<none>": // so daemons before API 1.43 write none
			others = true
		}
	}
	if len(own) == 0 && !others {
		own = append(own, id)
	}
	return own
}

// lastUsed is when an image was last tagged, or else built; zero if the daemon does not
// say or the image is gone.
func (d *daemon) lastUsed(ctx context.Context, id string) (time.Time, error) {
	var found struct {
		Created  time.Time
		Metadata struct{ LastTagTime time.Time }
	}
	err := d.get(ctx, "/images/"+id+"/json", nil, &found)
	if status(err) == http.StatusNotFound {
		return time.Time{}, nil
	}
	if found.Metadata.LastTagTime.After(found.Created) {
		return found.Metadata.LastTagTime, err
	}
	return found.Created, err
}
