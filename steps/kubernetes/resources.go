package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/servegate/pipeline/steps"
)

// smallRoom returns the requests of the keeper and of a Pod that only pulls an image: a quota on processors
// or memory rejects Pods without requests. The keeper sleeps and uses about 20 MiB. A LimitRange can set a
// minimum, usually 100m of a processor, and a maximum ratio of limits to requests.
func smallRoom() core.ResourceRequirements {
	return requirements(core.ResourceList{core.ResourceCPU: resource.MustParse("100m"), core.ResourceMemory: resource.MustParse("128Mi")})
}

// loadRoom returns the requests of the load generator's Pod. Values of the file are its limits as well. By
// default it requests little and has no limit, since a processor limit would delay its requests.
func (r *Run) loadRoom() core.ResourceRequirements {
	if own := amountsOf(r.opt.Spec.LoadResources); len(own) > 0 {
		return requirements(own)
	}
	return core.ResourceRequirements{Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("100m"),
		core.ResourceMemory: resource.MustParse("128Mi")}}
}

// resources returns a server's requests and limits. They are the same, unless its container sets requests apart.
func (r *Run) resources(c *steps.ContainerSpec) core.ResourceRequirements {
	limits := amountsOf(r.opt.Spec.Resources)
	if c.Memory > 0 {
		limits[core.ResourceMemory] = *resource.NewQuantity(c.Memory, resource.BinarySI)
	}
	maps.Copy(limits, amountsOf(c.Resources))
	if c.GPUs != nil && c.GPUs.Count > 0 {
		limits[core.ResourceName(r.opt.Spec.GPUResource)] = *resource.NewQuantity(int64(c.GPUs.Count), resource.DecimalSI)
	}
	if len(c.Requests) == 0 {
		return requirements(limits)
	}
	requests := maps.Clone(limits)
	for name, amount := range amountsOf(c.Requests) {
		requests[name] = amount
		if _, own := c.Resources[string(name)]; !own && name != core.ResourceMemory {
			delete(limits, name)
		}
	}
	return core.ResourceRequirements{Limits: limits, Requests: requests}
}

// deviceResource reports whether a device plugin can offer a resource of this name.
func deviceResource(name string) bool {
	return strings.Contains(name, "/") && len(validation.IsQualifiedName(name)) == 0
}

// wrongAmounts returns the resources of an argument that Kubernetes does not accept.
func wrongAmounts(argument string, said map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		amount, err := resource.ParseQuantity(said[name])
		whole := err == nil && amount.MilliValue()%1000 == 0
		if err != nil || amount.Sign() < 0 || !steps.NodeResource(name) && (!whole || !deviceResource(name)) {
			out = append(out, fmt.Sprintf("%s %s = %q", argument, name, said[name]))
		}
	}
	return out
}

// wrongRequests returns requests that Kubernetes does not accept: of a device apart from its limit, and above a limit.
func wrongRequests(c *steps.ContainerSpec) []string {
	out := wrongAmounts("requests", c.Requests)
	for _, name := range slices.Sorted(maps.Keys(c.Requests)) {
		asked, err := resource.ParseQuantity(c.Requests[name])
		limit, ofLimit := resource.ParseQuantity(c.Resources[name])
		switch {
		case err == nil && !steps.NodeResource(name):
			out = append(out, fmt.Sprintf("requests %s apart from its limit", name))
		case err == nil && ofLimit == nil && asked.Cmp(limit) > 0:
			out = append(out, fmt.Sprintf("requests %s = %q above its limit %q", name, c.Requests[name], c.Resources[name]))
		}
	}
	return out
}

// amountsOf parses the resources of a block, which its reader has validated.
func amountsOf(said map[string]string) core.ResourceList {
	amounts := core.ResourceList{}
	for name, amount := range said {
		if q, err := resource.ParseQuantity(amount); err == nil {
			amounts[core.ResourceName(name)] = q
		}
	}
	return amounts
}

func requirements(amounts core.ResourceList) core.ResourceRequirements {
	if len(amounts) == 0 {
		return core.ResourceRequirements{}
	}
	return core.ResourceRequirements{Limits: amounts, Requests: amounts}
}

// altered lists the resources of a container that the cluster has changed, as a LimitRange of the namespace
// or a webhook does; "" if none.
func altered(asked, got core.ResourceRequirements) string {
	var out []string
	for _, part := range []struct {
		what       string
		asked, got core.ResourceList
	}{{"requests", asked.Requests, got.Requests}, {"limits", asked.Limits, got.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(part.got)) {
			now := part.got[name]
			before, had := part.asked[name]
			switch {
			case !had:
				out = append(out, fmt.Sprintf("%s %s=%s", part.what, name, now.String()))
			case before.Cmp(now) != 0:
				out = append(out, fmt.Sprintf("%s %s=%s (asked for %s)", part.what, name, now.String(), before.String()))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(part.asked)) {
			if _, has := part.got[name]; !has {
				before := part.asked[name]
				out = append(out, fmt.Sprintf("%s %s unset (asked for %s)", part.what, name, before.String()))
			}
		}
	}
	return strings.Join(out, ", ")
}

// tellAltered warns once of a server whose resources the cluster has changed.
func (r *Run) tellAltered(server, what string) {
	if what == "" {
		return
	}
	if _, told := r.told.LoadOrStore(server+" "+what, true); !told {
		r.opt.Warn(fmt.Sprintf("%s: the cluster gave its Pod other resources than the file asks for, as a LimitRange of the namespace does: %s",
			server, what))
	}
}

// mainOf returns our container of a Pod; others can have been added to it.
func mainOf(pod *core.Pod) *core.Container {
	i := slices.IndexFunc(pod.Spec.Containers, func(c core.Container) bool { return c.Name == containerName })
	if i < 0 {
		return &core.Container{}
	}
	return &pod.Spec.Containers[i]
}
