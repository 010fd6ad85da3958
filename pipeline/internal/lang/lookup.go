package lang

// ServerAt returns the server at an address, nil if there is none.
func (c *Config) ServerAt(addr string) *Server {
	for _, s := range c.Servers {
		if s.Addr == addr {
			return s
		}
	}
	return nil
}

// DeploymentAt returns the deployment at an address, nil if there is none.
func (c *Config) DeploymentAt(addr string) *Deployment {
	for _, d := range c.Deployments {
		if d.Addr == addr {
			return d
		}
	}
	return nil
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
