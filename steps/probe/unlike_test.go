package probe_test

import (
	"testing"

	"github.com/servegate/pipeline/steps/probe"
)

func TestUnlike(t *testing.T) {
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
		"fewer cores, alone": {cpus("64"), cpus("32"), "cpus", ""},
		"another topology":   {h100("gpu_topology", "NV18"), h100("gpu_topology", "PHB"), "gpu_topology", ""},
		"other NICs":         {h100("nics", "mlx5_0"), h100("nics", "mlx5_0 mlx5_1"), "nics", ""},
	} {
		hard, soft := probe.Unlike(tt.a, tt.b, false)
		if hard != tt.hard || soft != tt.soft {
			t.Errorf("%s: they must not differ in %q and may in %q, want %q and %q", name, hard, soft, tt.hard, tt.soft)
		}
	}
	if hard, soft := probe.Unlike(cpus("64"), cpus("32"), true); hard != "" || soft != "cpus" {
		t.Errorf("where GPUs of which nothing is known do the work, they must not differ in %q and may in %q", hard, soft)
	}
}
