package slurmjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// nodeProbeWait bounds the look at all nodes of a job.
const nodeProbeWait = 2 * time.Minute

// classUnlikeNodes is the class of a job whose nodes are not what a comparison needs.
const classUnlikeNodes = "unlike_nodes"

// probeNodes describes the nodes that servers run on, all at once.
func (j *job) probeNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodeProbeWait)
	defer cancel()
	nodes := j.job.Nodes()[:j.spec.Nodes]
	found, errs := make([]map[string]string, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			if found[i], errs[i] = describeNode(ctx, j.job.Spawner(i)); errs[i] != nil {
				errs[i] = fmt.Errorf("node %s: %w; see whether srun --nodelist=%s starts anything there", n.Name, errs[i], n.Name)
			}
		})
	}
	all.Wait()
	for i := range found {
		j.job.Know(i, found[i])
	}
	return errors.Join(errs...)
}

// describeNode describes a node. A controller that is busy can be slow to start the first
// steps of a job.
func describeNode(ctx context.Context, sp steps.Spawner) (facts map[string]string, err error) {
	for range 3 {
		if facts, err = probe.Remote(ctx, sp); err == nil || ctx.Err() != nil {
			return facts, err
		}
	}
	return facts, err
}

// compareNodes sees whether the hosts of each role are alike, over the members of a target and
// over the lanes that repeats run on. An error names two that are not; the
// differences that it returns do not matter as much.
func (j *job) compareNodes() (differences []string, err error) {
	for _, t := range j.opt.Plan.Targets {
		hosts := rolesOn(j.opt, t.Addr, len(j.job.Nodes()))
		for _, role := range slices.Sorted(maps.Keys(hosts)) {
			first := j.job.Nodes()[hosts[role][0]]
			for _, i := range hosts[role][1:] {
				other := j.job.Nodes()[i]
				hard, soft := probe.Unlike(first.Facts, other.Facts)
				if hard != "" {
					return nil, &steps.EvictionError{Class: classUnlikeNodes, Reason: fmt.Sprintf(
						"%s: the hosts of role %q are not alike: node %s has %s and node %s has %s; ask for like nodes by constraint in the slurm block, or place the servers on others",
						t.Addr, role, first.Name, factText(first.Facts, hard), other.Name, factText(other.Facts, hard))}
				}
				if soft != "" {
					text := fmt.Sprintf("nodes %s and %s differ: %s and %s", first.Name, other.Name, factText(first.Facts, soft), factText(other.Facts, soft))
					if !slices.Contains(differences, text) {
						differences = append(differences, text)
					}
				}
			}
		}
	}
	return differences, nil
}

// rolesOn lists the nodes, of so many, that servers of each role of a target run on, by
// number.
func rolesOn(opt place.Options, addr string, nodes int) map[string][]int {
	lanes, width := lanesOf(opt.Plan)
	hosts := map[string][]int{}
	for role, specs := range byRole(opt.Config, addr) {
		for _, s := range specs {
			for rank := range max(s.Nodes, 1) {
				for lane := range lanes {
					if n := lane*width + s.Node + rank; !slices.Contains(hosts[role], n) && n < nodes {
						hosts[role] = append(hosts[role], n)
					}
				}
			}
		}
		slices.Sort(hosts[role])
		if len(hosts[role]) == 0 {
			delete(hosts, role)
		}
	}
	return hosts
}

// byRole lists the servers of a target that are launched, by their roles.
func byRole(cfg *lang.Config, addr string) map[string][]steps.ServerSpec {
	out := map[string][]steps.ServerSpec{}
	if d := cfg.DeploymentAt(addr); d != nil {
		for _, m := range d.Spec.Members {
			role := m.Role
			if role == "" {
				role = result.RoleServer
			}
			if m.Spec.URL == "" {
				out[role] = append(out[role], m.Spec)
			}
		}
		return out
	}
	if s := cfg.ServerAt(addr); s != nil && s.Spec.URL == "" {
		out[result.RoleServer] = append(out[result.RoleServer], s.Spec)
	}
	return out
}

func factText(facts map[string]string, name string) string {
	value := facts[name]
	if value == "" {
		return "no " + name
	}
	return name + " " + strings.TrimSpace(value)
}

// Facts implements place.Place: the nodes beside the machine of the command, which is where
// the load generator and the router run unless they have a node. What is asked of a machine
// without more words, such as its GPUs, is that of the first node: it is what was measured.
func (j *job) Facts(here map[string]string) map[string]string {
	all := map[string]string{}
	j.aboutLoad(all, here)
	for i, n := range j.job.Nodes() {
		at := fmt.Sprintf("slurm.node%d", i)
		all[at] = n.Name
		for name, value := range n.Facts {
			all[at+"."+name] = value
			if i == 0 && ofHost(name) {
				all[name] = value
			}
		}
	}
	machine.AddHeadings(all)
	return all
}

// Needs implements place.Place: nothing of this machine but what every file needs.
func (j *job) Needs(doctor.Needs) doctor.Needs { return doctor.Needs{File: true} }

// ofHost reports whether a fact of a node stands for the machine where nothing else is said:
// what [probe.Remote] finds, and what Slurm calls by the same names where it does not.
func ofHost(name string) bool {
	for _, prefix := range []string{"gpu_", "cpu_", "cpus", "memory_gib", "smt", "host", "kernel", "arch", "os"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
