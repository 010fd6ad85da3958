package engine

import (
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestWarmUpReachesEveryPair(t *testing.T) {
	servers := func(roles ...string) (out []*member) {
		for _, r := range roles {
			out = append(out, &member{Member: &Member{Role: r}})
		}
		return out
	}
	p, d := steps.RoleProducer, steps.RoleConsumer
	for _, tt := range []struct {
		name    string
		asked   int
		servers []*member
		want    int
	}{
		{"none is asked for", 0, servers(p, p, d, d), 0},
		{"one server", 3, servers("server"), 3},
		{"six pairs", 4, servers(p, p, d, d, d), 6},
		{"enough", 9, servers(p, p, d, d, d), 9},
		{"replicas", 1, servers("server", "server", "server"), 3},
		{"one pair", 1, servers(p, d), 2},
	} {
		if got := warmed(steps.Workload{Warmup: tt.asked}, tt.servers).Warmup; got != tt.want {
			t.Errorf("%s: %d requests, want %d", tt.name, got, tt.want)
		}
	}
}
