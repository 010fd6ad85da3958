package plan

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
)

// Machines are the machines that repeats take in turn, each repeat with all its sides on one of them. One
// machine may be several hosts, for servers that are spread over nodes.
type Machines struct {
	// Count is the number of machines, each of Width hosts or nodes.
	Count int `json:"count"`
	Width int `json:"width"`
	// Between is the standard deviation of a change's effect from machine to machine, as a share; absent if the
	// gates judge the mean over these machines.
	Between float64 `json:"between,omitempty"`
}

// machines returns the file's machines; nil if all repeats run on the same. Servers simulated as processes run
// on this machine.
func (b *builder) machines(p *Plan) *Machines {
	s, of := b.cfg.Settings.Machines, &b.cfg.Settings
	if s == nil || p.Simulated == SimulateProcess || p.Simulated == SimulateContainer && of.Docker == nil {
		return nil
	}
	hosts, noun := 0, "host"
	var loadNode *int
	switch {
	case of.Slurm != nil:
		hosts, noun, loadNode = of.Slurm.Nodes, "node", of.Slurm.LoadNode
	case of.Kubernetes != nil:
		hosts, noun, loadNode = of.Kubernetes.Nodes, "node", of.Kubernetes.LoadNode
	case of.Docker != nil:
		hosts = len(of.Docker.Hosts)
	}
	m := &Machines{Width: b.width(p, loadNode), Between: s.Between}
	if m.Count = hosts / m.Width; m.Count < 2 {
		b.fail(of.MachinesRange, "machines needs two of them",
			fmt.Sprintf("The servers of one repeat take %s, and the file has %d: add %d, or leave the block out.", humanize.Count(m.Width, noun),
				hosts, 2*m.Width-hosts))
		return nil
	}
	if !b.onMachines(p, of.Docker != nil) {
		return nil
	}
	repeats := p.mostRepeats()
	if repeats < 2 {
		return nil // a single repeat uses one
	}
	m.Count = min(m.Count, repeats)
	return m
}

// mostRepeats returns the largest number of repeats of a benchmark.
func (p *Plan) mostRepeats() int {
	most := 0
	for _, bm := range p.Benchmarks {
		most = max(most, bm.RepeatMax)
	}
	return most
}

// onMachines reports whether all targets can be launched on each machine. If not, it reports why.
func (b *builder) onMachines(p *Plan, contained bool) bool {
	at := b.cfg.Settings.MachinesRange
	for _, t := range p.Targets {
		for _, server := range b.cfg.ServersOf(t.Addr) {
			switch s := server.Spec; {
			case s.URL != "":
				b.fail(at, "machines needs servers that are launched",
					fmt.Sprintf("%s answers at %s, which is where it is. Leave the block out, or have the servers launched.", s.Addr, s.URL))
				return false
			case contained && s.Image == "":
				b.fail(server.Range, "machines needs servers with an image",
					fmt.Sprintf("%s is an executable, which runs on this machine and not at the hosts of the docker block. Give it an image.", s.Addr))
				return false
			}
		}
	}
	for _, g := range b.cfg.Gates {
		if b.cfg.Settings.Machines.Between > 0 && g.TestName != "" && b.cfg.Tests.Named(g.TestName) != gates.PairedTTest {
			b.fail(g.Range, "between is for gates that judge pairs by t-test",
				fmt.Sprintf("%s has test = %q. Leave test out, or between of the machines block.", g.Addr, g.TestName))
			return false
		}
	}
	return true
}

// between returns the standard deviation of a change's effect from machine to machine, on the scale of a
// metric's test; 0 if a gate judges the mean over the machines of the run.
func (p *Plan) between(m metric.Metric) float64 {
	if p.Machines == nil {
		return 0
	}
	return gates.BetweenOf(m, p.Machines.Between)
}

// amongMachines returns the standard error of a mean over the machines, for gates that judge all machines like
// these.
func (p *Plan) amongMachines() float64 {
	if p.Machines == nil {
		return 0
	}
	return math.Log1p(p.Machines.Between) / math.Sqrt(float64(p.Machines.Count))
}

// machinesText describes the machines of the repeats; "" if all run on the same.
func (p *Plan) machinesText() string {
	m := p.Machines
	if m == nil {
		return ""
	}
	one := "one of them"
	if m.Width > 1 {
		one = fmt.Sprintf("one of them, of %d hosts or nodes each", m.Width)
	}
	text := fmt.Sprintf("%d, in turn, each repeat with all its sides on %s; gates judge ", m.Count, one)
	if m.Between > 0 {
		return text + fmt.Sprintf("all machines like these, between which what a change does has a standard deviation of %.3g %%", 100*m.Between)
	}
	return text + "the mean over these machines"
}
