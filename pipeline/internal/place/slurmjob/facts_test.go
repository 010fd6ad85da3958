package slurmjob

import (
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

func TestNodesAreLike(t *testing.T) {
	h100 := func(change ...string) map[string]string {
		f := map[string]string{
			"gpu_count": "8", "gpu_name": "NVIDIA H100", "gpu_driver": "550.54", "gpu_memory_mib": "81559",
			"arch": "amd64", "cpu_model": "Xeon", "cpus": "64", "kernel": "6.1",
		}
		for i := 0; i+1 < len(change); i += 2 {
			f[change[i]] = change[i+1]
		}
		return f
	}
	cpus := func(count string) map[string]string {
		return map[string]string{"arch": "amd64", "cpu_model": "Xeon", "cpus": count}
	}
	for name, tt := range map[string]struct {
		a, b map[string]string
		hard string // the fact in which they must not differ
		soft string
	}{
		"alike":              {h100(), h100(), "", ""},
		"another model":      {h100(), h100("gpu_name", "NVIDIA A100"), "gpu_name", ""},
		"fewer GPUs":         {h100(), h100("gpu_count", "4"), "gpu_count", ""},
		"another driver":     {h100(), h100("gpu_driver", "535.1"), "gpu_driver", ""},
		"one without GPUs":   {h100(), cpus("64"), "gpu_count", "kernel"},
		"another kernel":     {h100(), h100("kernel", "6.8"), "", "kernel"},
		"other processors":   {h100(), h100("cpus", "32"), "", "cpus"},
		"without GPUs":       {cpus("64"), cpus("64"), "", ""},
		"fewer cores, alone": {cpus("64"), cpus("32"), "cpus", "cpus"},
	} {
		if got := differing(tt.a, tt.b, hardFacts(tt.a, tt.b)); got != tt.hard {
			t.Errorf("%s: they must not differ in %q, want %q", name, got, tt.hard)
		}
		if got := differing(tt.a, tt.b, softFacts); got != tt.soft {
			t.Errorf("%s: it is told that they differ in %q, want %q", name, got, tt.soft)
		}
	}
}

func TestServersByRole(t *testing.T) {
	_, opt := jobOf(t, 4, nil)
	hosts := rolesOn(opt, opt.Plan.Targets[0].Addr, 4)
	if got := hosts[result.RoleServer]; len(hosts) != 1 || len(got) != 4 || got[0] != 0 || got[3] != 3 {
		t.Errorf("with four lanes the server is on nodes %v", hosts)
	}
}
