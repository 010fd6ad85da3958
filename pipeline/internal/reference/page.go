package reference

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/steps"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// generated tells on every page how to generate it.
const generated = "*Written by `go test ./pipeline/internal/cli -run Reference -update` from the program's own tables.*"

// page collects lines of markdown.
type page struct {
	lines []string

	// Of a page on blocks: the name of its file, links to the sections of nested blocks by their text, and lines of example files.
	name     string
	written  map[string]string
	examples Examples
}

func (p *page) line(lines ...string) { p.lines = append(p.lines, lines...) }

// row adds a row of a table. Its cells are markdown on one line each.
func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
	}
	p.line("| " + strings.Join(cells, " | ") + " |")
}

func (p *page) write(w io.Writer) error {
	if len(p.lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	return err
}

func code(s string) string { return "`" + s + "`" }

// link returns a link to a heading of the page.
func link(heading string) string { return "[" + heading + "](#" + anchor(heading) + ")" }

// anchor returns the anchor of a heading by GitHub's rule: lower case, spaces become hyphens, and all but letters, digits, hyphens and
// underscores is dropped.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// Events writes the page on the events that a run prints with --json and stores in events.jsonl.
func Events(w io.Writer) error {
	p := &page{}
	p.line("# Events", "", generated, "",
		"`pipeline run --json` prints an event a line, and `events.jsonl` of a run directory keeps those that are stored. The version of the "+
			"stream is "+event.Schema+
			": additions are minor, changes are major, and readers ignore what they do not know. Every event has "+
			fieldList([]string{"seq", "time", "type"})+", most have "+code("text")+".",
		"", "| type | when | fields | kept |", "|---|---|---|---|")
	for _, t := range event.Types {
		p.row(code(string(t.Type)), t.Doc, fieldList(t.Fields), t.Keep.String())
	}
	p.line("", "Of what is shown nothing is kept; what is synced is on the disk before the run goes on, because a resumed run relies on it.",
		"", "| field | meaning |", "|---|---|")
	for _, name := range slices.Sorted(maps.Keys(event.FieldDocs)) {
		p.row(code(name), event.FieldDocs[name])
	}
	p.line("", "## Lost places", "", "A run that loses its place, or gets none, ends as an infrastructure failure. The text of the failure "+
		"ends with one of these classes.", "", "| class | the place was lost, or not granted |", "|---|---|")
	for _, e := range steps.Evictions() {
		p.row(code(string(e.Class)), e.Doc)
	}
	return p.write(w)
}

func fieldList(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = code(name)
	}
	return strings.Join(out, ", ")
}

// Functions writes the functions for expressions.
func Functions(w io.Writer, functions []function.Doc) error {
	var p page
	p.line("# Functions", "", generated, "", "Names and meanings follow Terraform.", "", "| call | is |", "|---|---|")
	for _, f := range functions {
		text := []string{f.Description}
		for _, param := range f.Params {
			if param.Description != "" {
				text = append(text, code(param.Name)+": "+param.Description)
			}
		}
		p.row(code(f.Signature()), strings.Join(text, " "))
	}
	return p.write(w)
}

// Metrics writes the metrics, with units, definitions and sources.
func Metrics(w io.Writer, metrics []lang.MetricDoc) error {
	var p page
	p.line("# Metrics", "", generated, "",
		"Each is the value of one run or launch. Below *least requests* a gate on it is refused: fewer say nothing. Times are seconds in files "+
			"of results.", "")
	p.metrics(metrics)
	return p.write(w)
}

// MetricTable writes only the table of metrics.
func MetricTable(w io.Writer, metrics []lang.MetricDoc) error {
	var p page
	p.metrics(metrics)
	return p.write(w)
}

func (p *page) metrics(metrics []lang.MetricDoc) {
	p.line("| reference | label | unit | better | least requests | definition | source |", "|---|---|---|---|--:|---|---|")
	for _, m := range metrics {
		least := fmt.Sprint(m.MinRequests)
		if !m.Gated {
			least = "not gated"
		}
		p.row(code(m.Reference), m.Label, m.Unit, strings.TrimSuffix(m.Better, "_is_better"), least, m.Definition, m.Source)
	}
}

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
	if c.Long != "" {
		p.line(c.Long)
	} else {
		p.line(c.Short + ".")
	}
	any := false
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !any {
			p.line("", "| flag | default | meaning |", "|---|---|---|")
			any = true
		}
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
	return code(fmt.Sprint(f.DefValue))
}
