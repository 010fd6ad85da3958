package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/term"
)

// edge says that From needs To.
type edge struct{ From, To string }

// edges lists what needs what: gates need benchmarks and baselines, benchmarks need
// targets, targets need steps, reports need gates.
func edges(cfg *lang.Config) []edge {
	var out []edge
	add := func(from string, to ...string) {
		for _, t := range to {
			if e := (edge{from, t}); t != "" && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	for _, s := range cfg.Steps {
		add(s.Addr, s.DependsOn...)
	}
	for _, s := range cfg.Servers {
		add(s.Addr, s.DependsOn...)
	}
	for _, d := range cfg.Deployments {
		add(d.Addr, d.DependsOn...)
	}
	for _, b := range cfg.Benchmarks {
		for _, c := range b.Cells {
			add(b.Addr, c.Target)
		}
	}
	for _, g := range cfg.Gates {
		add(g.Addr, g.Benchmark, g.Baseline)
	}
	for _, r := range cfg.Reports {
		add(r.Addr, r.Gates...)
		if len(r.Gates) == 0 {
			for _, g := range cfg.Gates {
				add(r.Addr, g.Addr)
			}
		}
	}
	return out
}

// WriteDOT writes the graph of a configuration in Graphviz's language.
func WriteDOT(w io.Writer, cfg *lang.Config) error {
	var b strings.Builder
	b.WriteString("digraph pipeline {\n  rankdir = \"LR\";\n  node [shape = \"box\"];\n")
	for _, e := range edges(cfg) {
		fmt.Fprintf(&b, "  %s -> %s;\n", quoteDOT(e.From), quoteDOT(e.To))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMermaid writes the same graph as a Mermaid flowchart, which GitHub renders.
func WriteMermaid(w io.Writer, cfg *lang.Config) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := map[string]string{}
	id := func(addr string) string {
		if _, ok := ids[addr]; !ok {
			ids[addr] = fmt.Sprintf("n%d", len(ids))
			fmt.Fprintf(&b, "  %s[\"%s\"]\n", ids[addr], strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(term.Escape(addr)))
		}
		return ids[addr]
	}
	for _, e := range edges(cfg) {
		from, to := id(e.From), id(e.To)
		fmt.Fprintf(&b, "  %s --> %s\n", from, to)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(term.Escape(s)) + `"`
}
