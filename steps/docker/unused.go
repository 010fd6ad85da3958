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

// errInUse means that a container of the image was created since the search.
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

// markUsed makes the daemon record that an image is used now: it stores the time of the last tag, which
// [Filter].Unused is compared with.
func (d *daemon) markUsed(ctx context.Context, ref string) error {
	name := parseReference(ref)
	return d.pool.Client.TagImage(ref, dc.TagImageOptions{Repo: name.repository, Tag: name.tag, Context: ctx})
}

// unusedSimulators lists the simulator images that were not used since a time and that no container uses.
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

// ownNames returns the names to remove so that an image is removed: ours. Names that others gave it remain, and
// the image with them. If two runs build the same image at once, one image loses its name; it is then removed
// by ID.
func ownNames(id string, tags []string) []string {
	var own []string
	others := false
	for _, tag := range tags {
		switch {
		case strings.HasPrefix(tag, simulatorRepository+":"):
			own = append(own, tag)
		case tag != "<none>:<none>": // written by daemons before API 1.43 for no name
			others = true
		}
	}
	if len(own) == 0 && !others {
		own = append(own, id)
	}
	return own
}

// lastUsed returns when an image was last tagged, or else built; zero if unknown or the image no longer exists.
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
