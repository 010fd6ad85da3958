package lang

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The defaults of a kubernetes block.
const (
	defaultGPUResource  = "nvidia.com/gpu"
	defaultQueueTimeout = 10 * time.Minute
)

// kubernetesSchema describes the kubernetes block.
func kubernetesSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "image", Type: cty.String, Required: true, Doc: "Image with this program as its entrypoint, of the version that is run: a Pod " +
			"of it holds the run's place, others look at the nodes and generate load."},
		{Name: "namespace", Type: cty.String,
			Doc: "Namespace in which everything is made; that of the context unless set, or inside a Pod its own."},
		{Name: "context", Type: cty.String, Doc: "Context of the kubeconfig; the current one unless set. It is not used inside a Pod without a " +
			"kubeconfig, whose service account it is then."},
		{Name: "kubeconfig", Type: cty.String,
			Doc: "Path of the kubeconfig, meant from the pipeline file's folder; that of KUBECONFIG or ~/.kube/config unless set."},
		{Name: "nodes", Type: cty.Number, Rule: steps.Whole(1, steps.MaxNodes),
			Doc: "Number of nodes that the machines block spreads repeats over. Without that block the run gets the nodes that its servers name."},
		{Name: "load_node", Type: cty.Number, Rule: steps.Whole(0, steps.MaxNodes-1),
			Doc: "Node on which the load is generated, counted from 0 as the " +
				"argument node of servers. Routers run there, too. Give it a node without a server. Unset, both run where the command runs, which " +
				"must then reach the addresses of Pods."},
		{Name: "queue", Type: cty.String, Doc: "Local queue of Kueue that admits the Pods with GPUs."},
		{Name: "priority_class", Type: cty.String, Doc: "Priority class of all Pods."},
		{Name: "service_account", Type: cty.String, Doc: "Service account of servers, whose token they find. Without it they get none."},
		{Name: "pull_secrets", Type: cty.List(cty.String), Doc: "Names of the secrets with credentials of the registries of images."},
		{Name: "labels", Type: cty.Map(cty.String), Doc: "Labels of all Pods, such as { \"sidecar.istio.io/inject\" = \"false\" }."},
		{Name: "annotations", Type: cty.Map(cty.String), Doc: "Annotations of all Pods."},
		{Name: "server_annotations", Type: cty.Map(cty.String), Doc: "Further annotations of the Pods of servers, such as the networks of " +
			"Multus for RDMA: { \"k8s.v1.cni.cncf.io/networks\" = \"roce\" }."},
		{Name: "node_selector", Type: cty.Map(cty.String), Doc: "Labels of the nodes, such as { \"nvidia.com/gpu.product\" = " +
			"\"NVIDIA-H100-80GB-HBM3\" }. All nodes of a comparison should be of one kind."},
		{Name: "tolerations", Type: cty.List(cty.String), Doc: "Taints that Pods tolerate: KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT."},
		{Name: "gpu_resource", Type: cty.String, Default: cty.StringVal(defaultGPUResource),
			Doc: "What the cluster's device plugin calls a GPU, of which a server gets as many as it asks for."},
		{Name: "resources", Type: cty.Map(cty.String),
			Doc: "Resources of each server beside its GPUs, both requested and the limit: { cpu = \"16\", \"rdma/hca\" = \"1\" }."},
		{Name: "load_resources", Type: cty.Map(cty.String), Doc: "Resources of the load generator's Pod, both requested and the limit: { cpu = " +
			"\"8\", memory = \"8Gi\" }. Unset, it requests little and has no limit. Set it where a quota asks for limits, and so large that it " +
			"delays nothing."},
		{Name: "secrets", Type: cty.Map(cty.String),
			Doc: "Environment variables of servers out of secrets of the namespace, by reference: { HF_TOKEN = \"huggingface/token\" }."},
		{Name: "queue_timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
			Default: cty.NumberIntVal(defaultQueueTimeout.Nanoseconds()),
			Doc:     "Longest wait until a Pod is scheduled. It does not count as a server's start-up."},
	}}
}

// readKubernetes reads a kubernetes block and checks it beyond types.
func readKubernetes(o steps.Object) (*steps.KubernetesSpec, []steps.Problem) {
	r := kubernetesReader{o: o, found: kubernetesSchema().Check(o)}
	s := &steps.KubernetesSpec{
		Image: o.Text("image"), Namespace: o.Text("namespace"), Context: o.Text("context"), Kubeconfig: o.Text("kubeconfig"),
		Queue: o.Text("queue"), PriorityClass: o.Text("priority_class"), ServiceAccount: o.Text("service_account"),
		Labels: r.pairs("labels"), Annotations: r.pairs("annotations"), ServerAnnotations: r.pairs("server_annotations"),
		NodeSelector: r.pairs("node_selector"),
		Tolerations:  r.tolerations(), GPUResource: o.Text("gpu_resource"), Resources: r.pairs("resources"),
		LoadResources: r.pairs("load_resources"), Secrets: r.secrets(),
		QueueTimeout: o.Duration("queue_timeout"), Nodes: o.Int("nodes"),
	}
	s.PullSecrets, _ = o.Texts("pull_secrets") // the schema's type excludes anything else
	r.names(s)
	if o.Known("load_node") {
		node := o.Int("load_node")
		s.LoadNode = &node
	}
	r.selector(s)
	r.metadata("labels", s.Labels, validation.IsValidLabelValue)
	r.metadata("annotations", s.Annotations)
	r.metadata("server_annotations", s.ServerAnnotations)
	r.resources(s)
	return s, r.found
}

// checkClaim returns why a volume's name cannot name a PersistentVolumeClaim, nil if it can.
func checkClaim(name string) error { return validName(name, validation.IsDNS1123Subdomain) }

// validName returns Kubernetes' objection to a name, without its examples, nil if it has none.
func validName(name string, rules ...func(string) []string) error {
	for _, rule := range rules {
		if found := rule(name); len(found) > 0 {
			text, _, _ := strings.Cut(found[0], " (e.g. ")
			return errors.New("Kubernetes says: " + text)
		}
	}
	return nil
}

// kubernetesReader collects problems while it reads.
type kubernetesReader struct {
	o     steps.Object
	found []steps.Problem
}

func (r *kubernetesReader) problem(argument, detail, format string, args ...any) {
	r.found = append(r.found, steps.Problem{Path: []string{argument}, Summary: fmt.Sprintf(format, args...), Detail: detail})
}

// names checks the names of objects, which become part of requests and of Pods.
func (r *kubernetesReader) names(s *steps.KubernetesSpec) {
	r.name("namespace", s.Namespace, validation.IsDNS1123Label)
	r.name("queue", s.Queue, validation.IsDNS1123Subdomain, validation.IsValidLabelValue)
	r.name("priority_class", s.PriorityClass, validation.IsDNS1123Subdomain)
	r.name("service_account", s.ServiceAccount, validation.IsDNS1123Subdomain)
	for _, name := range s.PullSecrets {
		r.name("pull_secrets", name, validation.IsDNS1123Subdomain)
	}
}

func (r *kubernetesReader) name(argument, name string, rules ...func(string) []string) {
	if err := validName(name, rules...); name != "" && err != nil {
		r.problem(argument, err.Error()+".", "%q is not the name of an object in Kubernetes", name)
	}
}

// selector checks the labels that nodes must have.
func (r *kubernetesReader) selector(s *steps.KubernetesSpec) {
	for _, key := range slices.Sorted(maps.Keys(s.NodeSelector)) {
		err := validName(key, validation.IsQualifiedName)
		if err == nil {
			err = validName(s.NodeSelector[key], validation.IsValidLabelValue)
		}
		if err != nil {
			r.problem("node_selector", err.Error()+".", "%q = %q is not a label that a node can have", key, s.NodeSelector[key])
		}
	}
}

// metadata checks labels or annotations of Pods. Those of this program, and of the queue, are its own.
func (r *kubernetesReader) metadata(argument string, said map[string]string, rules ...func(string) []string) {
	for _, key := range slices.Sorted(maps.Keys(said)) {
		err := validName(key, validation.IsQualifiedName)
		if err == nil {
			err = validName(said[key], rules...)
		}
		switch {
		case err != nil:
			r.problem(argument, err.Error()+".", "%q = %q is not valid for a Pod", key, said[key])
		case slices.ContainsFunc(ownMetadata, func(prefix string) bool { return strings.HasPrefix(key, prefix) }):
			r.problem(argument, "Cleaning up and the queue depend on it.", "%q is set by this program", key)
		}
	}
}

// ownMetadata lists prefixes of labels and annotations that Pods of a run have.
var ownMetadata = []string{"pipeline/", "app.kubernetes.io/managed-by", "kueue.x-k8s.io/"}

func (r *kubernetesReader) pairs(argument string) map[string]string {
	pairs, err := r.o.Env(argument)
	if err != nil && r.o.Known(argument) {
		r.problem(argument, "", "%s", err)
	}
	if len(pairs) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, p := range pairs {
		out[p.Name] = p.Value
	}
	return out
}

var (
	tolerated = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9./_-]*)(=([A-Za-z0-9._-]*))?(:(NoSchedule|PreferNoSchedule|NoExecute))?$`)
	variable  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (r *kubernetesReader) tolerations() []steps.Toleration {
	texts, _ := r.o.Texts("tolerations") // the schema's type excludes anything else
	var out []steps.Toleration
	for _, text := range texts {
		m := tolerated.FindStringSubmatch(text)
		if m == nil || validName(m[1], validation.IsQualifiedName) != nil || validName(m[3], validation.IsValidLabelValue) != nil {
			r.problem("tolerations",
				"Write KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT; effects are NoSchedule, PreferNoSchedule and NoExecute.",
				"%q is not a toleration", text)
			continue
		}
		out = append(out, steps.Toleration{Key: m[1], Value: m[3], Effect: m[5]})
	}
	return out
}

// resources checks names and amounts. The servers set their number of GPUs themselves.
func (r *kubernetesReader) resources(s *steps.KubernetesSpec) {
	if fault := resourceFault(s.GPUResource); s.GPUResource != "" && (fault != "" || steps.NodeResource(s.GPUResource)) {
		r.problem("gpu_resource", "A device plugin's have a domain before a slash, such as nvidia.com/gpu or amd.com/gpu.",
			"%q is not what a device plugin can call a GPU", s.GPUResource)
	}
	r.amounts(s, "resources", s.Resources)
	r.amounts(s, "load_resources", s.LoadResources)
}

// amounts checks the resources of one argument.
func (r *kubernetesReader) amounts(s *steps.KubernetesSpec, argument string, said map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(said)) {
		amount, err := resource.ParseQuantity(said[name])
		whole := amount.MilliValue()%1000 == 0
		switch fault := resourceFault(name); {
		case name == s.GPUResource:
			r.problem(argument, "Set gpus of the server.", "gpus of a server sets %s", name)
		case fault != "":
			r.problem(argument, fault, "%q is not a resource of a container", name)
		case err != nil || amount.Sign() < 0:
			r.problem(argument, "Write a number with a unit as Kubernetes does, such as 16, 500m or 64Gi.",
				"%q is not an amount of %s", said[name], name)
		case !whole && !steps.NodeResource(name):
			r.problem(argument, "What a device plugin offers is counted in whole numbers.", "%q is not an amount of %s", said[name], name)
		}
	}
}

// resourceFault returns why a container cannot request a resource, "" if it can.
func resourceFault(name string) string {
	domain, _, two := strings.Cut(name, "/")
	switch {
	case steps.NodeResource(name):
		return ""
	case !two || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io"):
		return "Resources are cpu, memory, ephemeral-storage, hugepages-SIZE and what device plugins offer under a domain of theirs, such as " +
			"rdma/hca."
	}
	if err := validName(name, validation.IsQualifiedName); err != nil {
		return err.Error() + "."
	}
	return ""
}

// secrets reads references to keys of secrets.
func (r *kubernetesReader) secrets() map[string]string {
	all := r.pairs("secrets")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		object, key, two := strings.Cut(all[name], "/")
		if !variable.MatchString(name) || !two || validName(object, validation.IsDNS1123Subdomain) != nil ||
			validName(key, validation.IsConfigMapKey) != nil {
			// At the block: a diagnostic shows the line of the argument, which may hold the secret itself.
			r.found = append(r.found, steps.Problem{
				Summary: fmt.Sprintf("what %q of secrets stands for is not a reference to a secret", name),
				Detail:  "Write { VARIABLE = \"SECRET/KEY\" }: the name of a secret of the namespace and one of its keys.",
			})
		}
	}
	return all
}
