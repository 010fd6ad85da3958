package docker

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// errInUse keeps an image of which somebody made a container since we looked.
var errInUse = errors.New("the image is in use")

// removeImage removes the name of an image, and with its last name the image.
func (d *daemon) removeImage(ctx context.Context, ref string) error {
	resp, err := d.call(ctx, http.MethodDelete, "/images/"+ref, nil, "", nil)
	switch status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusConflict:
		return errInUse
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// markUsed makes the daemon note that an image was wanted now: it keeps the time of the
// last tag. [Filter].Unused goes by it.
func (d *daemon) markUsed(ctx context.Context, ref string) error {
	name := parseReference(ref)
	query := url.Values{"repo": {name.repository}, "tag": {name.tag}}
	resp, err := d.call(ctx, http.MethodPost, "/images/"+ref+"/tag", query, "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// unusedSimulators lists the images of the simulator that nobody has wanted since a time
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
		// Names that others gave it stay, and the image with them.
		for _, tag := range i.RepoTags {
			if strings.HasPrefix(tag, simulatorRepository+":") {
				out = append(out, Leftover{Kind: kindImage, ID: tag, Name: tag})
			}
		}
	}
	return out, nil
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
