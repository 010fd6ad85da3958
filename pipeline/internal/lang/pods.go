package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
)

// pods holds the settings of the kubernetes block for servers that become Pods.
type pods struct {
	spec *steps.KubernetesSpec
	// loadNode is the range of the argument load_node.
	loadNode hcl.Range
}

// cluster stores the settings of a kubernetes block that other blocks are checked against.
func (e *evaluator) cluster(s *config.Settings, o object) {
	if s.Kubernetes == nil {
		return
	}
	for argument, set := range map[string]string{"kubeconfig": s.Kubernetes.Kubeconfig, "context": s.Kubernetes.Context} {
		if set != "" && (argument == "kubeconfig" || s.Kubernetes.Kubeconfig == "") {
			s.ClusterRange = o.at("kubernetes", argument)
		}
	}
	e.pods = &pods{spec: s.Kubernetes, loadNode: o.at("kubernetes", "load_node")}
}

// checkPod reports settings that a server in a Pod cannot have.
func (e *evaluator) checkPod(o object, s steps.ServerSpec) {
	if e.pods == nil || s.Image == "" {
		return
	}
	for _, v := range s.Env {
		if _, both := e.pods.spec.Secrets[v.Name]; both {
			// At the block: a diagnostic shows the line of the argument, which may hold a secret.
			e.report(problem(codeCheck, o.at(), fmt.Sprintf("%s is set by env and by secrets of the kubernetes block", v.Name),
				"All servers get the variables of secrets. Remove one of the two."))
		}
	}
	if s.Container == nil {
		return
	}
	for _, v := range s.Container.Volumes {
		if err := checkClaim(v.Name); err != nil {
			e.report(problem(codeCheck, o.at("container", "volumes"), fmt.Sprintf("%q is not the name of a PersistentVolumeClaim", v.Name),
				"Volumes of a Pod are claims of the namespace by their names. "+err.Error()+"."))
		}
	}
}

// checkLoadNode compares the node of the load with the nodes of the servers.
func (e *evaluator) checkLoadNode() {
	if e.pods == nil || e.pods.spec.LoadNode == nil || len(e.servers) == 0 {
		return
	}
	load, next, beside := *e.pods.spec.LoadNode, 0, ""
	for _, addr := range slices.Sorted(maps.Keys(e.servers)) {
		s := e.servers[addr]
		if s.Spec.URL != "" || e.abstract[addr] {
			continue
		}
		after := s.Spec.Node + max(s.Spec.Nodes, 1)
		next = max(next, after)
		if beside == "" && s.Spec.Node <= load && load < after && !s.Late {
			beside = s.Addr
		}
	}
	switch {
	case load > next:
		e.report(problem(codeCheck, e.pods.loadNode, "load_node is beyond the nodes of the servers",
			fmt.Sprintf("It is %d, and no server runs on the nodes from %d on, which would be held for nothing. Write load_node = %d.",
				load, next, next)))
	case beside != "":
		e.report(warning(codeCheck, e.pods.loadNode, "load_node is a node of servers",
			fmt.Sprintf("%s runs there, too, and shares its processors with the load generator. Write load_node = %d for a node without servers.",
				beside, next)))
	}
}
