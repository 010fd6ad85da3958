package docker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/docker/dockertest"
)

func TestCleanupSelects(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	f := dockertest.New(t)
	f.Vanished = "e"
	f.Lists = map[string]string{
		"/containers/json": `[
			{"Id":"a","Names":["/pipeline-a"],"Labels":{"dev.pipeline.run":"mine","dev.pipeline.deadline":"2026-07-01T13:00:00Z"}},
			{"Id":"b","Names":["/pipeline-b"],"Labels":{"dev.pipeline.run":"late","dev.pipeline.deadline":"2026-07-01T11:00:00Z"}},
			{"Id":"c","Names":["/pipeline-c"],"Labels":{"dev.pipeline.run":"busy","dev.pipeline.owner":"alive","dev.pipeline.deadline":"2026-07-01T13:00:00Z"}},
			{"Id":"e","Names":["/pipeline-e"],"Labels":{"dev.pipeline.run":"mine"}},
			{"Id":"d","Names":["pipeline-d"],"Labels":{"dev.pipeline.run":"no-deadline","dev.pipeline.owner":"dead"}}]`,
		"/networks": `[{"Id":"n","Name":"net","Labels":{"dev.pipeline.run":"mine"}}]`,
		"/volumes":  `{"Volumes":[{"Name":"v","Labels":{"dev.pipeline.run":"late","dev.pipeline.deadline":"2026-07-01T11:00:00Z"}}]}`,
	}
	for name, tt := range map[string]struct {
		filter docker.Filter
		want   string
	}{
		"nothing": {docker.Filter{}, ""},
		"run":     {docker.Filter{RunID: "mine"}, "container pipeline-a, network net"},
		"expired": {docker.Filter{Expired: now}, "container pipeline-b, volume v"},
		"gone":    {docker.Filter{Gone: func(owner string) bool { return owner == "dead" }}, "container pipeline-d"},
		"both":    {docker.Filter{RunID: "mine", Expired: now}, "container pipeline-a, container pipeline-b, network net, volume v"},
	} {
		for _, find := range []func(context.Context, string, docker.Filter) ([]docker.Leftover, error){docker.Leftovers, docker.Cleanup} {
			found, err := find(context.Background(), f.Host, tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range found {
				got = append(got, l.Kind+" "+l.Name)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%s: found %q, want %q", name, got, tt.want)
			}
		}
	}
	if got := f.Seen("GET /containers/json"); !strings.Contains(got[0], "all=1") || !strings.Contains(got[0], "dev.pipeline.run") {
		t.Errorf("asked for %s", got[0])
	}
	f.Fail["DELETE /networks"] = "network has active endpoints"
	removed, err := docker.Cleanup(context.Background(), f.Host, docker.Filter{RunID: "mine"})
	if err == nil || !strings.Contains(err.Error(), "network net: ") || len(removed) != 1 {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func TestCleanupUnusedImages(t *testing.T) {
	now := time.Date(2026, 7, 10, 12, 0, 0, 0, time.UTC)
	f := dockertest.New(t)
	f.Lists = map[string]string{
		"/networks":        `[]`,
		"/volumes":         `{"Volumes":[]}`,
		"/containers/json": `[{"Id":"c","Names":["/other"],"ImageID":"sha256:busy"}]`,
		"/images/json": `[
			{"Id":"sha256:old","RepoTags":["pipeline-simulator:old"]},
			{"Id":"sha256:new","RepoTags":["pipeline-simulator:new"]},
			{"Id":"sha256:busy","RepoTags":["pipeline-simulator:busy"]},
			{"Id":"sha256:wanted","RepoTags":["pipeline-simulator:wanted"]},
			{"Id":"sha256:named","RepoTags":["mine:v1","pipeline-simulator:named"]},
			{"Id":"sha256:others","RepoTags":["mine:v2"]},
			{"Id":"sha256:nameless","RepoTags":["<none>:<none>"]},
			{"Id":"sha256:untagged","RepoTags":null},
			{"Id":"sha256:gone","RepoTags":["pipeline-simulator:gone"]}]`,
		"/images/sha256:old/json":      `{"Created":"2026-07-01T12:00:00Z","Metadata":{"LastTagTime":"0001-01-01T00:00:00Z"}}`,
		"/images/sha256:new/json":      `{"Created":"2026-07-10T11:00:00Z"}`,
		"/images/sha256:busy/json":     `{"Created":"2026-07-01T12:00:00Z"}`,
		"/images/sha256:wanted/json":   `{"Created":"2026-07-01T12:00:00Z","Metadata":{"LastTagTime":"2026-07-10T11:00:00Z"}}`,
		"/images/sha256:others/json":   `{"Created":"2026-07-01T12:00:00Z"}`,
		"/images/sha256:nameless/json": `{"Created":"2026-07-01T12:00:00Z"}`,
		"/images/sha256:untagged/json": `{"Created":"2026-07-01T12:00:00Z"}`,
		"/images/sha256:named/json":    `{"Created":"2026-07-01T12:00:00Z"}`,
	}
	filter := docker.Filter{Unused: now.Add(-48 * time.Hour)}
	for _, find := range []func(context.Context, string, docker.Filter) ([]docker.Leftover, error){docker.Leftovers, docker.Cleanup} {
		found, err := find(context.Background(), f.Host, filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range found {
			got = append(got, l.Kind+" "+l.Name)
		}
		if want := "image pipeline-simulator:old, image pipeline-simulator:named, image sha256:nameless, image sha256:untagged"; strings.Join(
			got, ", ") != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	if got := f.Seen("/images/json"); !strings.Contains(got[0], "dev.pipeline.simulator") {
		t.Errorf("asked for %s", got[0])
	}
	// Without the time no image is looked for at all.
	before := len(f.Seen("/images/"))
	if _, err := docker.Leftovers(context.Background(), f.Host, docker.Filter{Expired: now}); err != nil || len(f.Seen("/images/")) != before {
		t.Errorf("%v, asked for images %v", err, f.Seen("/images/"))
	}
}
