package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// kubernetes is a manifest with one container of an engine: a Pod, or anything with a template of Pods.
var kubernetes = form{
	name: "kubernetes", title: "a Kubernetes manifest",
	matches: func(s *source) bool {
		return slices.ContainsFunc(s.documents, func(v any) bool {
			return textOf(at(v, "apiVersion")) != "" && textOf(at(v, "kind")) != "" && at(v, "spec") != nil
		})
	},
	read: (*Definition).kubernetes,
}

// templates are the paths to the specification of Pods.
var templates = [][]string{
	{"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"},
	{"spec", "leaderWorkerTemplate", "leaderTemplate", "spec"}, {"spec", "leaderWorkerTemplate", "workerTemplate", "spec"}, {"spec"},
}

const inCluster = "it belongs to the cluster: see pipeline.kubernetes"

func (d *Definition) kubernetes(s *source) error {
	var all []any
	for _, doc := range s.documents {
		if textOf(at(doc, "kind")) == "List" {
			all = append(all, listOf(at(doc, "items"))...)
		} else {
			all = append(all, doc)
		}
	}
	for _, doc := range all {
		name := strings.TrimSpace(textOf(at(doc, "kind")) + " " + textOf(at(doc, "metadata", "name")))
		spec := podOf(doc)
		if spec == nil {
			d.leave(name, inCluster)
			continue
		}
		if n := textOf(at(doc, "spec", "replicas")); n != "" && n != "1" {
			d.leave(name+": replicas "+n, "a benchmark loads one server, or a deployment of several")
		}
		if err := d.pod(textOf(at(doc, "metadata", "name")), spec); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// podOf returns the specification of an object's Pods, or nil.
func podOf(doc any) any {
	for _, path := range templates {
		if spec := at(doc, path...); listOf(at(spec, "containers")) != nil {
			return spec
		}
	}
	return nil
}

var podReasons = map[string]string{
	"nodeSelector": "see node_selector of pipeline.kubernetes", "tolerations": "see tolerations of pipeline.kubernetes",
	"serviceAccountName": "see service_account of pipeline.kubernetes", "imagePullSecrets": "see pull_secrets of pipeline.kubernetes",
	"priorityClassName": "see priority_class of pipeline.kubernetes",
	"restartPolicy":     "a server that ends has failed", "terminationGracePeriodSeconds": "see stop_grace of the server",
	"initContainers": "use step blocks, or put it into the image",
}

func (d *Definition) pod(name string, spec any) error {
	f := fieldsOf(spec, "")
	containers := listOf(f.take("containers"))
	volumes := listOf(f.take("volumes"))
	var found *server
	var failed error
	for _, c := range containers {
		s := &server{name: name}
		attempt := *d // what a container that is not a server has left is not kept
		if err := attempt.podContainer(s, c, volumes); err != nil {
			failed = err
			d.leave("the container "+textOf(at(c, "name"))+" ("+textOf(at(c, "image"))+")", "it is not a server that is known")
			continue
		}
		if found != nil {
			return fmt.Errorf("has two containers that serve: %s and %s", found.image, s.image)
		}
		*d, found = attempt, s
	}
	if found == nil {
		if len(containers) == 1 {
			return failed
		}
		return nil
	}
	for _, host := range [][2]string{{"hostNetwork", "network"}, {"hostIPC", "ipc"}} {
		if f.take(host[0]) == true {
			found.container = set(found.container, host[1], "host")
		}
	}
	f.rest(podReasons, found.leave)
	d.addServer(found)
	return nil
}

var containerReasons = map[string]string{
	"ports": ownPorts, "livenessProbe": "a server that ends has failed", "readinessProbe": "the server is asked whether it is ready",
	"imagePullPolicy": "see pull of the container", "lifecycle": "see stop_grace of the server", "envFrom": "write its variables into env",
}

func (d *Definition) podContainer(s *server, c any, volumes []any) error {
	f := fieldsOf(c, "")
	f.take("name")
	s.image = textOf(f.take("image"))
	for _, e := range listOf(f.take("env")) {
		d.podVariable(s, e)
	}
	command, args := s.podWords(f.take("command")), s.podWords(f.take("args"))
	for _, m := range listOf(f.take("volumeMounts")) {
		if err := d.podVolume(s, m, volumes); err != nil {
			return err
		}
	}
	s.podResources(fieldsOf(f.take("resources"), "resources."))
	s.podSecurity(fieldsOf(f.take("securityContext"), "securityContext."))
	if v := f.take("workingDir"); v != nil {
		s.container = set(s.container, "workdir", textOf(v))
	}
	if probe := f.take("startupProbe"); probe != nil {
		s.startup(probe)
	}
	f.rest(containerReasons, s.leave)
	s.inside = command
	return d.contained(s, args)
}

// startup carries over how long a server may take to start.
func (s *server) startup(probe any) {
	period, failures := max(wholeOf(at(probe, "periodSeconds")), 1), max(wholeOf(at(probe, "failureThreshold")), 1)
	if at(probe, "periodSeconds") == nil {
		period = 10 // the default of Kubernetes
	}
	seconds := wholeOf(at(probe, "initialDelaySeconds")) + period*failures
	s.ready = set(s.ready, "timeout", strconv.Itoa(seconds)+"s")
	s.leave("startupProbe", "the server is asked whether it is ready; its longest time is carried over")
}

// podVariable reads an entry of env.
func (d *Definition) podVariable(s *server, e any) {
	name, from := textOf(at(e, "name")), at(e, "valueFrom")
	switch {
	case from == nil:
		d.environment(s, name, textOf(at(e, "value")))
	case at(from, "secretKeyRef") != nil:
		s.leave(name+" of the secret "+textOf(at(from, "secretKeyRef", "name")), "set PIPELINE_VAR_"+identifier(name)+
			", or see secrets of pipeline.kubernetes")
		s.env = set(s.env, name, d.hidden(name))
	default:
		s.leave("env "+name+" = "+compact(from), "it is known in the cluster alone")
	}
}

var podReference = lazyregexp.New(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// podWords returns the words of command or args with $(NAME) replaced by the value in env.
func (s *server) podWords(v any) []string {
	words := textsOf(v)
	for i, w := range words {
		words[i] = podReference.ReplaceAllStringFunc(w, func(found string) string {
			if v, ok := get(s.env, found[2:len(found)-1]); ok {
				return textOf(v)
			}
			return found
		})
	}
	return words
}

// podVolume reads a mount: memory at /dev/shm, a folder of the node, or a claim.
func (d *Definition) podVolume(s *server, mount any, volumes []any) error {
	name, target := textOf(at(mount, "name")), textOf(at(mount, "mountPath"))
	mode := ""
	if at(mount, "readOnly") == true {
		mode = ":ro"
	}
	i := slices.IndexFunc(volumes, func(v any) bool { return textOf(at(v, "name")) == name })
	if i < 0 {
		s.leave("the volume "+name+" at "+target, "the manifest does not define it")
		return nil
	}
	v, _ := volumes[i].(hclfile.Map)
	claim := textOf(at(v, "persistentVolumeClaim", "claimName"))
	_, empty := get(v, "emptyDir")
	switch folder := textOf(at(v, "hostPath", "path")); {
	case folder != "":
		return each("mounts")(d, s, folder+":"+target+mode)
	case claim != "":
		s.leave("the claim "+claim+" at "+target, "a volume of the daemon of that name stands in its place")
		return mapped("volumes")(d, s, claim+"="+target+mode)
	case empty && target == "/dev/shm":
		if limit := textOf(at(v, "emptyDir", "sizeLimit")); limit != "" {
			s.container = set(s.container, "shm_size", quantity(limit))
			return nil
		}
		s.container = set(s.container, "ipc", "host")
		s.leave("the volume "+name+" at "+target, "without a limit of its size: ipc = \"host\" stands in its place")
	default:
		s.leave("the volume "+name+" at "+target+" = "+compact(v), "a container has mounts, volumes and tmpfs")
	}
	return nil
}

// quantity returns a quantity of Kubernetes as a size of the language.
func quantity(limit string) string {
	if n := len(limit); n > 1 && strings.ContainsAny(limit[n-1:], "KMGT") {
		return strings.ReplaceAll(limit, "K", "k") + "B"
	}
	return limit + "B"
}

var gpuResource = lazyregexp.New(`^(nvidia\.com/(gpu|mig-.*)|amd\.com/gpu|gpu\.intel\.com/.*|habana\.ai/gaudi)$`)

func (s *server) podResources(f *fields) {
	limits, requests := f.take("limits"), f.take("requests")
	for _, group := range []any{limits, requests} {
		m, _ := group.(hclfile.Map)
		for _, p := range m {
			if gpuResource.MatchString(p.Name) {
				s.gpus = max(s.gpus, wholeOf(p.Value))
			} else {
				s.leave("resources "+p.Name+" = "+textOf(p.Value), "see resources of pipeline.kubernetes")
			}
		}
	}
	f.rest(nil, s.leave)
}

func (s *server) podSecurity(f *fields) {
	capabilities := f.take("capabilities")
	for _, name := range []string{"add", "drop"} {
		if list := listOf(at(capabilities, name)); list != nil {
			s.container = set(s.container, "cap_"+name, list)
		}
	}
	if f.take("privileged") == true {
		s.container = set(s.container, "privileged", true)
	}
	f.rest(nil, s.leave)
}
