package kubernetes

import (
	"context"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/servegate/pipeline/steps/kv"
)

// examine checks that the cluster of a file, if any, has what a run needs. It creates nothing.
func examine(ctx context.Context, o place.Options) []doctor.Check {
	spec := o.Plan.Config.Settings.Kubernetes
	if spec == nil {
		return nil
	}
	opt := kubernetes.Options{Spec: *spec, Dir: o.Plan.Config.Folder, Getenv: o.Getenv, Version: o.Version, RunID: "doctor"}
	s, err := kubernetes.Examine(ctx, opt, trials(o.Plan.Config, o.Connectors))
	if err != nil {
		return []doctor.Check{{Name: "Kubernetes", Status: doctor.Missing, Found: err.Error(),
			Fix: "see that kubeconfig, context and namespace are right and that this machine reaches the API server"}}
	}
	return surveyed(s, spec.GPUResource)
}

// trials returns the containers of all servers, services and routers that a file launches, as a run would start
// them.
func trials(cfg *config.Config, connectors kv.Table) []kubernetes.Trial {
	var out []kubernetes.Trial
	seen := map[string]bool{}
	for _, b := range cfg.Benchmarks {
		for _, c := range b.Cells {
			if seen[c.Target] {
				continue
			}
			seen[c.Target] = true
			servers := cfg.ServersOf(c.Target)
			for _, s := range servers {
				spec := s.Spec
				if spec.URL != "" || spec.Image == "" {
					continue
				}
				if len(servers) > 1 || spec.Spread() {
					spec = place.OnHostNetwork(spec)
				}
				out = append(out, kubernetes.Trial{Name: spec.Addr, Container: spec.NewContainer()})
			}
			if d := cfg.DeploymentAt(c.Target); d != nil {
				out = append(out, besides(d, cfg.Settings.Kubernetes, connectors)...)
			}
		}
	}
	return out
}

// besides returns the containers of a deployment other than its servers: its services, and its router if that
// runs on a node.
func besides(d *config.Deployment, spec *steps.KubernetesSpec, connectors kv.Table) []kubernetes.Trial {
	var out []kubernetes.Trial
	layout, err := connectors.NewLayout(d.Spec)
	if err != nil {
		return nil // validate reports it
	}
	rendered, err := layout.Render(layout.Symbolic())
	if err != nil {
		return nil
	}
	for _, s := range rendered.Services {
		if s.Image != "" {
			out = append(out, kubernetes.Trial{Name: d.Addr + ".service." + s.Name,
				Container: &steps.ContainerSpec{Image: s.Image, Network: steps.NetworkHost}})
		}
	}
	if d.Spec.Router != nil && spec.LoadNode != nil {
		out = append(out, kubernetes.Trial{Name: d.Addr + "." + kv.RouterName,
			Container: &steps.ContainerSpec{Image: spec.Image, Pull: steps.PullNever, Network: steps.NetworkHost}})
	}
	return out
}

// surveyed converts a survey to checks.
func surveyed(s kubernetes.Survey, gpu string) []doctor.Check {
	rights := doctor.Check{Name: "rights", Status: doctor.OK, Found: "all that a run needs in namespace " + s.Where.Namespace}
	if len(s.Missing) > 0 {
		rights.Status, rights.Found = doctor.Missing, "in namespace "+s.Where.Namespace+" this user may not "+strings.Join(s.Missing, ", ")
		rights.Fix = "pipeline init --kubernetes writes the Role and the RoleBinding with what is needed, for somebody to apply"
	}
	var names []string
	for _, n := range s.Nodes {
		names = append(names, fmt.Sprintf("%s (%d)", n.Name, n.GPUs))
	}
	nodes := doctor.Check{Name: "nodes with " + gpu, Status: doctor.OK, Found: strings.Join(names, ", ")}
	switch {
	case s.Nodes == nil:
		nodes.Found = "this user may not list nodes, which a run does not need"
	case len(names) == 0:
		nodes.Status, nodes.Found = doctor.Warn, "none that is ready for Pods"
		nodes.Fix = "see that node_selector and gpu_resource are right and that the device plugin runs, unless the cluster adds nodes when " +
			"it must"
	}
	cluster := doctor.Check{Name: "Kubernetes", Status: doctor.OK, Found: s.Version + ", " + s.Where.String()}
	if s.Terminating {
		cluster.Status, cluster.Found = doctor.Missing, s.Where.String()+" is being deleted"
		cluster.Fix = "wait until it is gone and create it again, or name another in the file"
	}
	if s.NoNamespace {
		cluster.Status, cluster.Found = doctor.Missing, "there is no "+s.Where.String()
		cluster.Fix = "kubectl create namespace " + s.Where.Namespace + ", or name another in the file"
	}
	checks := []doctor.Check{cluster, rights, nodes}
	for _, name := range s.NoPullSecrets {
		checks = append(checks, doctor.Check{
			Name: "pull secret", Status: doctor.Missing, Found: "namespace " + s.Where.Namespace + " does not have " + name + " of pull_secrets",
			Fix: "kubectl create secret docker-registry " + name + " --namespace " + s.Where.Namespace + ", or take it out of the file",
		})
	}
	for _, text := range s.Refused {
		checks = append(checks, doctor.Check{
			Name: "Pods", Status: doctor.Missing, Found: "the API server would refuse " + text,
			Fix: "for a quota set resources, load_resources and the memory of containers in the file, for the security of Pods what their " +
				"containers may do",
		})
	}
	return checks
}
