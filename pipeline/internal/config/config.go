// Package config holds an evaluated pipeline: what the language made of its files, and what the plan, the
// places and a session read.
//
// It imports nothing of the language. [Late] evaluates what is known only at run time.
package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/steps"
	datasets "github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
)

// Config is an evaluated pipeline. Every block is decoded by its schema, every plan-time expression is
// evaluated, and every for_each and matrix is expanded. Late evaluates the values that are known only at run
// time.
type Config struct {
	// Inputs are the files that the pipeline was loaded from.
	Inputs []Input
	// Folder is the folder of the pipeline's file, absolute if it can be. Relative paths in the file start
	// there.
	Folder string
	// Tests are the significance tests that gates name; nil means the standard ones.
	Tests       gates.Tests
	Settings    Settings
	Variables   []Variable
	Steps       []*Step
	Servers     []*Server // every instance; abstract templates are left out
	Deployments []*Deployment
	Benchmarks  []*Benchmark
	Baselines   []*Baseline
	Gates       []*Gate
	Reports     []*Report
	// Measures are the metrics that the file declares, in source order.
	Measures []steps.Measure
	// LeftOut lists the addresses of the gates that were not selected.
	LeftOut []string
	// Read holds the texts of the files that file and templatefile read, by their path in the pipeline's
	// folder.
	Read map[string]string
	// Stored is true if the pipeline is judged without the files beside it, such as those of datasets.
	Stored bool
	// JudgesChange is true for the file before a change, with the head's servers taken from the change.
	JudgesChange bool
	// Files opens the files of datasets.
	Files *datasets.Files
	// Arrivals are the load models; nil means the program's own.
	Arrivals load.Arrivals
	// Secrets are the secret texts of the pipeline, for the redactor: the values of sensitive variables, values
	// of sensitive arguments made from them, and unmarked values that are secrets by their name.
	Secrets []string
	Late    Late
}

// Input is a file that a pipeline was loaded from.
type Input struct {
	// Name is the file's path, "stdin.pipeline.hcl" or "stdin.pipeline.json" for standard input.
	Name  string
	Bytes []byte
}

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

// RangeOf returns the location of the block at an address, nil if there is none.
func (c *Config) RangeOf(addr string) *hcl.Range {
	if s := c.ServerAt(addr); s != nil {
		return &s.Range
	} else if d := c.DeploymentAt(addr); d != nil {
		return &d.Range
	} else if b := c.BenchmarkAt(addr); b != nil {
		return &b.Range
	} else if g := c.GateAt(addr); g != nil {
		return &g.Range
	} else if s := find(c.Steps, addr, func(s *Step) string { return s.Addr }); s != nil {
		return &s.Range
	}
	return nil
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
