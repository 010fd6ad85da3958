package lang

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// find returns the element of a list at an address, nil if there is none.
func find[T any](list []*T, addr string, addrOf func(*T) string) *T {
	if i := slices.IndexFunc(list, func(x *T) bool { return addrOf(x) == addr }); i >= 0 {
		return list[i]
	}
	return nil
}

// ServerAt returns the server at an address, nil if there is none.
func (c *Config) ServerAt(addr string) *Server {
	return find(c.Servers, addr, func(s *Server) string { return s.Addr })
}

// DeploymentAt returns the deployment at an address, nil if there is none.
func (c *Config) DeploymentAt(addr string) *Deployment {
	return find(c.Deployments, addr, func(d *Deployment) string { return d.Addr })
}

// BenchmarkAt returns the benchmark at an address, nil if there is none.
func (c *Config) BenchmarkAt(addr string) *Benchmark {
	return find(c.Benchmarks, addr, func(b *Benchmark) string { return b.Addr })
}

// BaselineAt returns the baseline at an address, nil if there is none.
func (c *Config) BaselineAt(addr string) *Baseline {
	return find(c.Baselines, addr, func(b *Baseline) string { return b.Addr })
}

// GateAt returns the gate at an address, nil if there is none.
func (c *Config) GateAt(addr string) *Gate {
	return find(c.Gates, addr, func(g *Gate) string { return g.Addr })
}

// ServersOf returns the servers of the target at an address.
func (c *Config) ServersOf(addr string) []*Server {
	if d := c.DeploymentAt(addr); d != nil {
		return d.Servers
	}
	if s := c.ServerAt(addr); s != nil {
		return []*Server{s}
	}
	return nil
}

// SelectGates keeps the gates that match one of the patterns, and the benchmarks that they judge. A pattern is
// a name or an address, with * and ? as in names of files. LeftOut lists the other gates.
func (c *Config) SelectGates(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	keep := map[string]bool{}
	for _, pattern := range patterns {
		found := false
		for _, g := range c.Gates {
			yes, err := matchesGate(pattern, g.Addr)
			if err != nil {
				return fmt.Errorf("--gate %s: %w", pattern, err)
			}
			found = found || yes
			keep[g.Addr] = keep[g.Addr] || yes
		}
		if !found {
			return fmt.Errorf("no gate matches --gate %s: %s", pattern, didYouMean(gateName(pattern), c.gateNames(), "gates of the file"))
		}
	}
	benchmarks := map[string]bool{}
	for _, g := range c.Gates {
		if keep[g.Addr] {
			benchmarks[g.Benchmark] = true
		} else {
			c.LeftOut = append(c.LeftOut, g.Addr)
		}
	}
	c.Gates = slices.DeleteFunc(c.Gates, func(g *Gate) bool { return !keep[g.Addr] })
	c.Benchmarks = slices.DeleteFunc(c.Benchmarks, func(b *Benchmark) bool { return !benchmarks[b.Addr] })
	c.trimReports(keep)
	return nil
}

// trimReports removes gates that were left out from the reports, and reports that list no other gate.
func (c *Config) trimReports(keep map[string]bool) {
	c.Reports = slices.DeleteFunc(c.Reports, func(r *Report) bool {
		if len(r.Gates) == 0 {
			return false // all gates
		}
		r.Gates = slices.DeleteFunc(r.Gates, func(addr string) bool { return !keep[addr] })
		return len(r.Gates) == 0
	})
}

// matchesGate reports whether a pattern matches the address or name of a gate, with or without the key of
// for_each.
func matchesGate(pattern, addr string) (bool, error) {
	block, _, _ := strings.Cut(addr, "[")
	pattern = strings.ReplaceAll(pattern, "[", `\[`) // a key's bracket; only * and ? are special
	for _, name := range []string{addr, block, gateName(addr), gateName(block)} {
		if ok, err := path.Match(pattern, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func gateName(addr string) string { return strings.TrimPrefix(addr, "gate.") }

func (c *Config) gateNames() []string {
	names := make([]string, len(c.Gates))
	for i, g := range c.Gates {
		names[i] = gateName(g.Addr)
	}
	return names
}
