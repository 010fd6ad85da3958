package reference

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands writes every command with its flags.
func Commands(w io.Writer, root *cobra.Command) error {
	var p page
	p.line("# Commands", "", generated, "", "| command | does |", "|---|---|")
	each(root, func(c *cobra.Command) { p.row(code(c.CommandPath()), c.Short) })
	each(root, func(c *cobra.Command) { p.command(c) })
	return p.write(w)
}

// each calls f for every executable command below c, in order.
func each(c *cobra.Command, f func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.Hidden || !sub.IsAvailableCommand() || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if !sub.HasSubCommands() {
			f(sub)
		}
		each(sub, f)
	}
}

func (p *page) command(c *cobra.Command) {
	usage := strings.TrimSpace(c.CommandPath() + strings.TrimPrefix(c.Use, c.Name()))
	p.line("", "## "+c.CommandPath(), "", code(usage), "")
	p.line(cmp.Or(c.Long, c.Short+"."))
	head := []string{"", "| flag | default | meaning |", "|---|---|---|"}
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		p.line(head...)
		head = nil
		value, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		p.row(code(name), flagDefault(f), text)
	})
}

// flagDefault returns the default of a flag if it is informative.
func flagDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "0", "0s":
		return ""
	}
	return code(f.DefValue)
}
