package lang

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
)

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
	c.Gates = slices.DeleteFunc(c.Gates, func(g *config.Gate) bool { return !keep[g.Addr] })
	c.Benchmarks = slices.DeleteFunc(c.Benchmarks, func(b *config.Benchmark) bool { return !benchmarks[b.Addr] })
	c.trimReports(keep)
	return nil
}

// trimReports removes gates that were left out from the reports, and reports that list no other gate.
func (c *Config) trimReports(keep map[string]bool) {
	c.Reports = slices.DeleteFunc(c.Reports, func(r *config.Report) bool {
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
