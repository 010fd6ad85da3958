package lang

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func TestReadKubernetes(t *testing.T) {
	texts := func(pairs ...string) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = cty.StringVal(pairs[i+1])
		}
		return cty.MapVal(m)
	}
	list := func(words ...string) cty.Value {
		var l []cty.Value
		for _, w := range words {
			l = append(l, cty.StringVal(w))
		}
		return cty.ListVal(l)
	}
	for name, tt := range map[string]struct {
		attrs map[string]cty.Value
		fault string
	}{
		"whole": {attrs: map[string]cty.Value{
			"namespace": cty.StringVal("bench"), "load_node": cty.NumberIntVal(1), "queue": cty.StringVal("gpu"),
			"tolerations": list("nvidia.com/gpu", "dedicated=bench:NoSchedule"),
			"resources":   texts("cpu", "16", "rdma/hca", "1", "memory", "64Gi"), "secrets": texts("HF_TOKEN", "hf/token"),
			"queue_timeout": cty.NumberIntVal(int64(time.Minute)),
		}},
		"a namespace with a slash":  {map[string]cty.Value{"namespace": cty.StringVal("a/b")}, `"a/b" is not the name of an object`},
		"a queue in capitals":       {map[string]cty.Value{"queue": cty.StringVal("GPU")}, `"GPU" is not the name of an object`},
		"a pull secret with a path": {map[string]cty.Value{"pull_secrets": list("../x")}, `"../x" is not the name of an object`},
		"a namespace with a dot":    {map[string]cty.Value{"namespace": cty.StringVal("a.b")}, `"a.b" is not the name of an object`},
		"a queue that is no label":  {map[string]cty.Value{"queue": cty.StringVal(strings.Repeat("q", 64))}, `is not the name of an object`},
		"a label with a space":      {map[string]cty.Value{"node_selector": texts("gpu", "H100 80GB")}, `"gpu" = "H100 80GB" is not a label`},
		"a Pod's label":             {map[string]cty.Value{"labels": texts("team", "a b")}, `"team" = "a b" is not valid for a Pod`},
		"a label of ours":           {map[string]cty.Value{"labels": texts("pipeline/run", "x")}, `"pipeline/run" is set by this program`},
		"an annotation's name":      {map[string]cty.Value{"annotations": texts("a b", "x")}, `"a b" = "x" is not valid for a Pod`},
		"the queue's annotation":    {map[string]cty.Value{"server_annotations": texts("kueue.x-k8s.io/x", "y")}, `"kueue.x-k8s.io/x" is set by`},
		"a label without a name":    {map[string]cty.Value{"node_selector": texts("nvidia.com/", "x")}, `"nvidia.com/" = "x" is not a label`},
		"a long toleration":         {map[string]cty.Value{"tolerations": list(strings.Repeat("k", 64))}, `is not a toleration`},
		"GPUs without a domain": {map[string]cty.Value{"gpu_resource": cty.StringVal("gpu")},
			`"gpu" is not what a device plugin can call a GPU`},
		"GPUs of Kubernetes": {map[string]cty.Value{"gpu_resource": cty.StringVal("cpu")},
			`"cpu" is not what a device plugin can call a GPU`},
		"GPUs with a space": {map[string]cty.Value{"gpu_resource": cty.StringVal("nvidia.com/a gpu")},
			`is not what a device plugin can call a GPU`},
		"a resource of nobody":   {map[string]cty.Value{"resources": texts("cores", "16")}, `"cores" is not a resource of a container`},
		"half a device":          {map[string]cty.Value{"resources": texts("rdma/hca", "500m")}, `"500m" is not an amount of rdma/hca`},
		"of the load, of nobody": {map[string]cty.Value{"load_resources": texts("cores", "16")}, `"cores" is not a resource of a container`},
		"of the load, no amount": {map[string]cty.Value{"load_resources": texts("memory", "much")}, `"much" is not an amount of memory`},
		"less than nothing":      {map[string]cty.Value{"resources": texts("cpu", "-1")}, `"-1" is not an amount of cpu`},
		"a key with a slash": {map[string]cty.Value{"secrets": texts("HF_TOKEN", "hf/a/b")},
			`what "HF_TOKEN" of secrets stands for is not a reference to a secret`},
		"a toleration with a space": {map[string]cty.Value{"tolerations": list("a b")}, `"a b" is not a toleration`},
		"an effect that is none":    {map[string]cty.Value{"tolerations": list("a:Never")}, `"a:Never" is not a toleration`},
		"GPUs as a resource": {map[string]cty.Value{"resources": texts("nvidia.com/gpu", "1"),
			"gpu_resource": cty.StringVal("nvidia.com/gpu")}, "gpus of a server sets nvidia.com/gpu"},
		"an amount with a space": {map[string]cty.Value{"resources": texts("cpu", "16 cores")}, `"16 cores" is not an amount of cpu`},
		"a secret by its value": {map[string]cty.Value{"secrets": texts("HF_TOKEN", "hf_abcdefgh")},
			`what "HF_TOKEN" of secrets stands for is not a reference to a secret`},
		"a node below zero": {map[string]cty.Value{"load_node": cty.NumberIntVal(-1)}, "load_node"},
	} {
		tt.attrs["image"] = cty.StringVal("r/pipeline:1")
		got, found := readKubernetes(steps.Object{Attrs: tt.attrs})
		if tt.fault != "" {
			if len(found) == 0 || !strings.Contains(found[0].Summary, tt.fault) || strings.Contains(found[0].Summary+found[0].Detail, "abcdefgh") {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		one := 1
		want := &steps.KubernetesSpec{
			Image: "r/pipeline:1", Namespace: "bench", LoadNode: &one, Queue: "gpu", QueueTimeout: time.Minute,
			Tolerations: []steps.Toleration{{Key: "nvidia.com/gpu"}, {Key: "dedicated", Value: "bench", Effect: "NoSchedule"}},
			Resources:   map[string]string{"cpu": "16", "rdma/hca": "1", "memory": "64Gi"}, Secrets: map[string]string{"HF_TOKEN": "hf/token"},
		}
		if diff := cmp.Diff(want, got); len(found) > 0 || diff != "" {
			t.Errorf("%s: %+v\n%s", name, found, diff)
		}
	}
}
