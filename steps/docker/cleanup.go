package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Filter selects what [Cleanup] removes: the leftovers of a run, and those past their deadline. The zero value
// selects nothing.
type Filter struct {
	// RunID selects a run's containers, networks and volumes, regardless of deadline.
	RunID string
	// Expired selects everything with a deadline before this time. Zero selects none.
	Expired time.Time
	// Gone, if not nil, reports whether an owner has certainly ended. Its leftovers are selected, regardless of
	// deadline.
	Gone func(owner string) bool
	// Unused selects simulator images that no run has used since this time and that no container uses. They are
	// rebuilt when needed. Zero selects none.
	Unused time.Time
}

// kindImage is the kind of simulator images, which belong to no run.
const kindImage = "image"

// Leftover is an object that a run created.
type Leftover struct {
	// Kind is "container", "network", "volume" or "image".
	Kind string
	// ID for the daemon, and the name for people.
	ID, Name string
	// RunID of the run that created it.
	RunID string
	// Owner from [Options].
	Owner string
	// Deadline of the object, zero if none.
	Deadline time.Time
}

// Leftovers lists what [Cleanup] would remove.
func Leftovers(ctx context.Context, host string, filter Filter) ([]Leftover, error) {
	_, selected, err := search(ctx, host, filter)
	return selected, err
}

// search connects and lists the selected leftovers, containers first. After errors it returns what it found,
// too.
func search(ctx context.Context, host string, filter Filter) (*daemon, []Leftover, error) {
	d, err := connect(host)
	if err != nil {
		return nil, nil, err
	}
	if err := d.ping(ctx); err != nil {
		return nil, nil, err
	}
	found, err := d.leftovers(ctx)
	found = slices.DeleteFunc(found, func(l Leftover) bool { return !filter.selects(l) || d.vanished(ctx, l) })
	if !filter.Unused.IsZero() {
		images, imagesErr := d.unusedSimulators(ctx, filter.Unused)
		found, err = append(found, images...), errors.Join(err, imagesErr)
	}
	return d, found, err
}

// Cleanup removes the labelled containers, networks and volumes that filter selects, containers first, and
// unused simulator images. It continues after a failure, and returns what it removed with all errors. Named
// volumes of a pipeline file are caches without labels, and remain.
func Cleanup(ctx context.Context, host string, filter Filter) ([]Leftover, error) {
	d, found, err := search(ctx, host, filter)
	errs := []error{err}
	var removed []Leftover
	for _, l := range found {
		err := d.removeLeftover(ctx, l)
		if errors.Is(err, errInUse) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", l.Kind, l.Name, err))
			continue
		}
		removed = append(removed, l)
	}
	return removed, errors.Join(errs...)
}

func (f Filter) selects(l Leftover) bool {
	if f.RunID != "" && l.RunID == f.RunID {
		return true
	}
	if f.Gone != nil && l.Owner != "" && f.Gone(l.Owner) {
		return true
	}
	return !f.Expired.IsZero() && !l.Deadline.IsZero() && l.Deadline.Before(f.Expired)
}

// labelled holds the fields common to the API's three lists.
type labelled struct {
	ID     string `json:"Id"`
	Name   string
	Names  []string
	Labels map[string]string
}

// leftovers lists all objects with a run label.
func (d *daemon) leftovers(ctx context.Context) ([]Leftover, error) {
	filters, err := json.Marshal(map[string][]string{"label": {LabelRun}})
	if err != nil {
		return nil, err
	}
	query := url.Values{"filters": {string(filters)}, "all": {"1"}}
	var containers, networks []labelled
	var volumes struct{ Volumes []labelled }
	err = errors.Join(
		d.get(ctx, "/containers/json", query, &containers),
		d.get(ctx, "/networks", query, &networks),
		d.get(ctx, "/volumes", query, &volumes),
	)
	var out []Leftover
	for _, list := range []struct {
		kind  string
		items []labelled
	}{{"container", containers}, {"network", networks}, {"volume", volumes.Volumes}} {
		for _, item := range list.items {
			out = append(out, item.leftover(list.kind))
		}
	}
	return out, err
}

func (i labelled) leftover(kind string) Leftover {
	l := Leftover{Kind: kind, ID: i.ID, Name: i.Name, RunID: i.Labels[LabelRun], Owner: i.Labels[LabelOwner]}
	if len(i.Names) > 0 {
		l.Name = strings.TrimPrefix(i.Names[0], "/")
	}
	if l.ID == "" {
		l.ID = i.Name // volumes have only a name
	}
	if t, err := time.Parse(time.RFC3339, i.Labels[LabelDeadline]); err == nil {
		l.Deadline = t
	}
	return l
}

// vanished reports whether a container is only listed: one that was removed while it started can stay in the daemon's list.
// The daemon answers when a start of the container that a killed client has asked for is over; before that, its removal
// would miss the process.
func (d *daemon) vanished(ctx context.Context, l Leftover) bool {
	return l.Kind == "container" && status(d.get(ctx, "/containers/"+url.PathEscape(l.ID)+"/json", nil, &struct{}{})) == http.StatusNotFound
}

// removePoll is the interval between checks of a container that another client removes.
const removePoll = 100 * time.Millisecond

func (d *daemon) removeLeftover(ctx context.Context, l Leftover) error {
	switch l.Kind {
	case kindImage:
		return d.removeImage(ctx, l.ID)
	case "container":
		ctx, cancel := context.WithTimeout(ctx, removeWait)
		defer cancel()
		return d.remove(ctx, l.ID, removePoll)
	}
	err := d.ask(ctx, http.MethodDelete, "/"+l.Kind+"s/"+url.PathEscape(l.ID), nil, nil, nil)
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}
