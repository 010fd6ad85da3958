package lang

import "slices"

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

// ServersOf returns the servers that the target at an address consists of.
func (c *Config) ServersOf(addr string) []*Server {
	if d := c.DeploymentAt(addr); d != nil {
		return d.Servers
	}
	if s := c.ServerAt(addr); s != nil {
		return []*Server{s}
	}
	return nil
}
