package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// Sides that fill a cache for each other are no fair comparison of start-up times.
func TestSharedCaches(t *testing.T) {
	volume := func(name string, readOnly bool) *steps.ContainerSpec {
		return &steps.ContainerSpec{Volumes: []steps.Volume{{Name: name, Target: "/root/.cache/vllm", ReadOnly: readOnly}}}
	}
	mount := func(source string) *steps.ContainerSpec {
		return &steps.ContainerSpec{Mounts: []steps.Mount{{Source: source, Target: "/models"}}}
	}
	for name, tt := range map[string]struct {
		metric     string
		base, head *steps.ContainerSpec
		want       string
	}{
		"one volume":             {"startup.time", volume("cache", false), volume("cache", false), "share volume cache"},
		"one folder":             {"startup.time", mount("/srv/models"), mount("/srv/models"), "share /srv/models"},
		"only one side fills it": {"startup.time", volume("cache", false), volume("cache", true), "share volume cache"},
		"a volume for each side": {"startup.time", volume("cache-base", false), volume("cache-head", false), ""},
		"read by both":           {"startup.time", volume("cache", true), volume("cache", true), ""},
		"another metric":         {"ttft.p50", volume("cache", false), volume("cache", false), ""},
		"processes":              {"startup.time", nil, nil, ""},
	} {
		cfg := config(4, 2, 4)
		cfg.Servers[0].Spec.Container, cfg.Servers[1].Spec.Container = tt.base, tt.head
		m, _ := metric.Lookup(tt.metric)
		cfg.Gates[0].Metrics = []metric.Metric{m}
		warnings := build(t, cfg, Options{}).Warnings
		found := slices.DeleteFunc(warnings, func(w string) bool { return !strings.Contains(w, " share ") })
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
			t.Errorf("%s: warnings %q, want %q once", name, found, tt.want)
		}
	}
}
