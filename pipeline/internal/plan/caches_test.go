package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/plan"
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
		cfg := configOf(4, 2, 4)
		cfg.Servers[0].Spec.Container, cfg.Servers[1].Spec.Container = tt.base, tt.head
		m, _ := metric.Lookup(tt.metric)
		cfg.Gates[0].Metrics = []metric.Metric{m}
		warnings := build(t, cfg, plan.Options{}).Warnings
		found := slices.DeleteFunc(warnings, func(w string) bool { return !strings.Contains(w, " share ") })
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
			t.Errorf("%s: warnings %q, want %q once", name, found, tt.want)
		}
	}
}

// A cache that each side keeps for itself makes no difference of the sides, so that an A/A run is one; that
// one side keeps one and the other does not is a difference. One for both is warned of as a volume is.
func TestDeclaredCaches(t *testing.T) {
	kept := func(folder, env string) []steps.Cache { return []steps.Cache{{Folder: folder, Env: env}} }
	for name, tt := range map[string]struct {
		base, head []steps.Cache
		differ     int
		warns      bool
	}{
		"one for each side":   {kept("a", "CACHE"), kept("b", "CACHE"), 0, false},
		"one side alone":      {nil, kept("b", "CACHE"), 1, false},
		"by another variable": {kept("a", "CACHE"), kept("b", "OTHER"), 2, false},
		"one for both":        {kept("a", "CACHE"), kept("a", "CACHE"), 0, true},
	} {
		cfg := configOf(4, 2, 4)
		m, _ := metric.Lookup("startup.time")
		cfg.Gates[0].Metrics = []metric.Metric{m}
		head := cfg.Servers[0].Spec
		head.Addr = cfg.Servers[1].Spec.Addr
		cfg.Servers[1].Spec = head
		cfg.Servers[0].Spec.Caches, cfg.Servers[1].Spec.Caches = tt.base, tt.head
		p := build(t, cfg, plan.Options{})
		if s := p.Sides[0]; len(s.Differences) != tt.differ || s.Identical != (tt.differ == 0) {
			t.Errorf("%s: %+v", name, s)
		}
		if !strings.Contains(strings.Join(p.Warnings, "\n"), "startup.time has a pair less") {
			t.Errorf("%s: warnings %q", name, p.Warnings)
		}
		if warns := strings.Contains(strings.Join(p.Warnings, "\n"), " share "); warns != tt.warns {
			t.Errorf("%s: warnings %q", name, p.Warnings)
		}
	}
}

// The repeats in which caches are filled decide nothing on start-up times: what is left has to.
func TestFilledCachesLeaveEnoughRepeats(t *testing.T) {
	for _, tt := range []struct {
		test    string
		repeats int
		caches  bool
		want    string
	}{
		{"paired_t", 2, false, ""},
		{"paired_t", 2, true, "filled in 1 repeat of 2"},
		{"paired_t", 3, true, ""},
		{"permutation", 5, false, ""},
		{"permutation", 5, true, "by 4 repeats alone"},
		{"permutation", 6, true, ""},
		{"sign_flip", 8, true, "by 7 repeats alone"},
		{"sign_flip", 9, true, ""},
	} {
		cfg := configOf(tt.repeats, 2, 4)
		m, _ := metric.Lookup("startup.time")
		cfg.Gates[0].Metrics, cfg.Gates[0].TestName = []metric.Metric{m}, tt.test
		if tt.caches {
			cfg.Servers[0].Spec.Caches = []steps.Cache{{Folder: "a", Env: "CACHE"}}
		}
		_, diags := plan.Build(cfg, plan.Options{IgnoreNoise: true})
		if refused := diags.HasErrors(); refused != (tt.want != "") || refused && !strings.Contains(diags[0].Detail, tt.want) {
			t.Errorf("%s with %d repeats, caches %t: %v, want …%s…", tt.test, tt.repeats, tt.caches, diags, tt.want)
		}
	}
}
