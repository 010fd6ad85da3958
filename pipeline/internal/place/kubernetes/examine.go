package kubernetes

import (
	"context"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/kubernetes"
)

// Examine asks the cluster of a file, if it has one, for what a run needs there. It makes nothing.
func Examine(ctx context.Context, cfg *lang.Config, dir string, environ []string, version string) []doctor.Check {
	spec := cfg.Settings.Kubernetes
	if spec == nil {
		return nil
	}
	opt := kubernetes.Options{Spec: *spec, Dir: dir, Getenv: spawn.Getenv(environ), Version: version, RunID: "doctor"}
	s, err := kubernetes.Examine(ctx, opt, trials(cfg))
	if err != nil {
		return []doctor.Check{{Name: "Kubernetes", Status: doctor.Missing, Found: err.Error(),
			Fix: "see that kubeconfig, context and namespace are right and that this machine reaches the API server"}}
	}
	return surveyed(s, spec.GPUResource)
}

// trials returns the containers of all servers that a file launches, as a run would start them.
func trials(cfg *lang.Config) []kubernetes.Trial {
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
		}
	}
	return out
}

// surveyed is what a survey says as checks.
func surveyed(s kubernetes.Survey, gpu string) []doctor.Check {
	rights := doctor.Check{Name: "rights", Status: doctor.OK, Found: "all that a run needs in namespace " + s.Where.Namespace}
	if len(s.Missing) > 0 {
		rights.Status, rights.Found = doctor.Missing, "in namespace "+s.Where.Namespace+" this user may not "+strings.Join(s.Missing, ", ")
		rights.Fix = "pipeline init --kubernetes writes a Role with what is needed, for somebody to apply"
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
	for _, text := range s.Refused {
		checks = append(checks, doctor.Check{
			Name: "Pods", Status: doctor.Missing, Found: "the API server would refuse " + text,
			Fix: "for a quota set resources, load_resources and the memory of containers in the file, for the security of Pods what their " +
				"containers may do",
		})
	}
	return checks
}
