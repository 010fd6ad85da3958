package kubernetes

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// Folders of a container that are ours.
const (
	filesFolder = "/var/run/pipeline/files"
	shmFolder   = "/dev/shm"
)

// containerName of the only container of each Pod.
const containerName = "main"

// podOf returns the Pod of a process on a node. held is the secret with its secret variables and its files,
// "" if there is none.
func (r *Run) podOf(p steps.Process, node Node, held string) (*core.Pod, error) {
	p = steps.FilesIn(p, filesFolder)
	c := p.Container
	if err := Containers().Err(c); err != nil {
		return nil, err
	}
	main := core.Container{
		Name: containerName, Image: c.Image, ImagePullPolicy: core.PullNever, WorkingDir: c.Workdir,
		Env: r.environment(p, held), Resources: r.resources(c), SecurityContext: security(c),
	}
	if c.OwnEntrypoint {
		main.Args = escaped(p.Argv)
	} else {
		main.Command = escaped(p.Argv)
	}
	pod := r.bare(p.Name, "server")
	_, grace := p.Stopping()
	spec := &pod.Spec
	spec.TerminationGracePeriodSeconds = new(seconds(grace))
	spec.HostNetwork, spec.HostIPC, spec.HostPID = c.Network == steps.NetworkHost, c.IPC == "host", c.PID == "host"
	if c.Runtime != "" {
		spec.RuntimeClassName = &c.Runtime
	}
	if name := r.opt.Spec.ServiceAccount; name != "" {
		spec.ServiceAccountName, spec.AutomountServiceAccountToken = name, new(true)
	}
	if len(c.GroupAdd) > 0 {
		spec.SecurityContext = &core.PodSecurityContext{SupplementalGroups: groups(c.GroupAdd)}
	}
	if c.GPUs != nil && r.opt.Spec.Queue != "" {
		pod.Labels[queueLabel] = r.opt.Spec.Queue
	}
	maps.Copy(pod.Annotations, r.opt.Spec.ServerAnnotations)
	for name, value := range c.Labels {
		pod.Annotations["pipeline/label."+labelValue(name)] = value
	}
	bind(spec, node.Name)
	spec.NodeSelector = node.Selector
	mount(spec, &main, c, p.Files, held)
	spec.Containers = []core.Container{main}
	return pod, nil
}

// bare returns a Pod without containers that the run's Job owns.
func (r *Run) bare(name, role string) *core.Pod {
	s := r.opt.Spec
	pod := &core.Pod{
		ObjectMeta: r.meta(name, role),
		Spec: core.PodSpec{
			RestartPolicy: core.RestartPolicyNever, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			PriorityClassName: s.PriorityClass, NodeSelector: s.NodeSelector, TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
	maps.Copy(pod.Annotations, undisturbed)
	maps.Copy(pod.Annotations, s.Annotations)
	maps.Copy(pod.Labels, s.Labels)
	for _, name := range s.PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, core.LocalObjectReference{Name: name})
	}
	for _, t := range s.Tolerations {
		out := core.Toleration{Key: t.Key, Operator: core.TolerationOpExists, Effect: core.TaintEffect(t.Effect)}
		if t.Value != "" {
			out.Operator, out.Value = core.TolerationOpEqual, t.Value
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, out)
	}
	return pod
}

// undisturbed asks autoscalers to leave a Pod where it is.
var undisturbed = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}

// meta returns the metadata that all objects of a run share: a descriptive name, labels and annotations.
func (r *Run) meta(name, role string) meta.ObjectMeta {
	out := meta.ObjectMeta{
		Name:        r.objectName(name),
		Labels:      map[string]string{managedLabel: managedBy, runLabel: labelValue(r.opt.RunID), roleLabel: role},
		Annotations: map[string]string{runLabel: r.opt.RunID, nameLabel: name, ownerLabel: r.opt.Owner},
	}
	if r.owner.UID != "" {
		out.OwnerReferences = []meta.OwnerReference{r.owner}
	}
	return out
}

// bind has a Pod scheduled on one node and no other, by the scheduler, which counts its resources.
func bind(spec *core.PodSpec, node string) {
	spec.Affinity = &core.Affinity{NodeAffinity: &core.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &core.NodeSelector{
		NodeSelectorTerms: []core.NodeSelectorTerm{{MatchFields: []core.NodeSelectorRequirement{{Key: "metadata.name",
			Operator: core.NodeSelectorOpIn, Values: []string{node}}}}},
	}}}
}

// environment returns the environment of a process. Secret values are not in the Pod; it refers to secrets of
// the namespace.
func (r *Run) environment(p steps.Process, held string) []core.EnvVar {
	var out []core.EnvVar
	fromSecret := func(name, secret, key string) {
		out = append(out,
			core.EnvVar{Name: name,
				ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{LocalObjectReference: core.LocalObjectReference{Name: secret},
					Key: key}}})
	}
	refs := r.opt.Spec.Secrets
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		secret, key, _ := strings.Cut(refs[name], "/")
		fromSecret(name, secret, key)
	}
	for i, e := range p.Env {
		switch {
		case refs[e.Name] != "": // the file's reference takes precedence
		case e.Secret:
			fromSecret(e.Name, held, secretKey(i))
		default:
			out = append(out, core.EnvVar{Name: e.Name, Value: escape(e.Value)})
		}
	}
	return out
}

// secretOf returns the secret with the data of a process that must not be in its Pod, or nil.
func (r *Run) secretOf(p steps.Process) (*core.Secret, error) {
	data := map[string][]byte{}
	for i, e := range steps.FilesIn(p, filesFolder).Env {
		if e.Secret {
			data[secretKey(i)] = []byte(e.Value)
		}
	}
	for i, f := range p.Files {
		if err := steps.CheckFile(f); err != nil {
			return nil, err
		}
		data[fileKey(i)] = f.Content
	}
	if len(data) == 0 {
		return nil, nil
	}
	return &core.Secret{ObjectMeta: r.meta(p.Name, "server"), Data: data, Immutable: new(true)}, nil
}

// Keys of a secret of ours: names of variables and files need not be keys.
func secretKey(i int) string { return fmt.Sprintf("env.%d", i) }
func fileKey(i int) string   { return fmt.Sprintf("file.%d", i) }

// claim is a volume that is a claim of the namespace.
func claim(v steps.Volume) core.VolumeSource {
	return core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: v.Name, ReadOnly: v.ReadOnly}}
}

// mount gives a container its volumes.
func mount(spec *core.PodSpec, main *core.Container, c *steps.ContainerSpec, files []steps.File, held string) {
	add := func(source core.VolumeSource, at string, readOnly bool) {
		name := fmt.Sprintf("v%d", len(spec.Volumes))
		spec.Volumes = append(spec.Volumes, core.Volume{Name: name, VolumeSource: source})
		main.VolumeMounts = append(main.VolumeMounts, core.VolumeMount{Name: name, MountPath: at, ReadOnly: readOnly})
	}
	inMemory := func(size int64) core.VolumeSource {
		v := &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory}
		if size > 0 {
			v.SizeLimit = resource.NewQuantity(size, resource.BinarySI)
		}
		return core.VolumeSource{EmptyDir: v}
	}
	if c.ShmSize > 0 {
		add(inMemory(c.ShmSize), shmFolder, false)
	}
	for _, at := range slices.Sorted(maps.Keys(c.Tmpfs)) {
		size, _ := tmpfsSize(c.Tmpfs[at]) // Containers refuses invalid sizes
		add(inMemory(size), at, false)
	}
	for _, v := range c.Volumes {
		add(claim(v), v.Target, v.ReadOnly)
	}
	if len(files) == 0 {
		return
	}
	var items []core.KeyToPath
	for i, f := range files {
		items = append(items, core.KeyToPath{Key: fileKey(i), Path: path.Clean(f.Name)})
	}
	add(core.VolumeSource{Secret: &core.SecretVolumeSource{SecretName: held, Items: items, DefaultMode: new(int32(0o444))}}, filesFolder, true)
}

// tmpfsSize reads the size out of mount options, 0 for none.
func tmpfsSize(options string) (int64, error) {
	for option := range strings.SplitSeq(options, ",") {
		text, ok := strings.CutPrefix(option, "size=")
		if !ok {
			continue
		}
		unit := strings.TrimLeft(text, "0123456789")
		binary, known := map[string]string{"": "", "k": "Ki", "m": "Mi", "g": "Gi"}[strings.ToLower(unit)]
		q, err := resource.ParseQuantity(strings.TrimSuffix(text, unit) + binary)
		if err != nil || !known {
			return 0, fmt.Errorf("%q is not a size in bytes, k, m or g", text)
		}
		return q.Value(), nil
	}
	return 0, nil
}

// escape keeps the kubelet from expanding $(NAME) in commands and variables.
func escape(text string) string { return strings.ReplaceAll(text, "$(", "$$(") }

func escaped(argv []string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = escape(a)
	}
	return out
}
