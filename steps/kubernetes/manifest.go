package kubernetes

import (
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/servegate/pipeline/steps"
)

// Names in a manifest that is only shown: a run chooses them.
const (
	shownRun    = "RUN"
	shownSecret = "SECRET"
)

// Manifest returns the Pod of a process as a run creates it, in YAML. Its name, its Secret and the run's ID are placeholders, and
// so is the node. The labels of a queue's flavor are known only then.
func Manifest(spec steps.KubernetesSpec, p steps.Process, node string) (string, error) {
	if p.Container == nil {
		return "", nil
	}
	opt := Options{Spec: spec, RunID: shownRun}
	opt.complete()
	r := &Run{cluster: &cluster{opt: opt}}
	pod, err := r.podOf(p, Node{Name: node, Selector: spec.NodeSelector}, shownSecret)
	if err != nil {
		return "", err
	}
	pod.TypeMeta = meta.TypeMeta{APIVersion: core.SchemeGroupVersion.String(), Kind: "Pod"}
	pod.Name = pod.Name[:strings.LastIndexByte(pod.Name, '-')+1] + shownRun
	pod.Namespace = spec.Namespace
	var out strings.Builder
	err = json.NewSerializerWithOptions(json.DefaultMetaFactory, nil, nil, json.SerializerOptions{Yaml: true}).Encode(pod, &out)
	return out.String(), err
}
