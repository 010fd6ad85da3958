package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/pipeline/internal/reference"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/steps"
	"github.com/spf13/cobra"
)

type schemaFlags struct{ functions, markdown, json, jsonSchema bool }

func (a *app) schemaCommand() *cobra.Command {
	var f schemaFlags
	cmd := &cobra.Command{
		Use:   "schema [BLOCK... | DOCUMENT]",
		Short: "Print the language, or the schema of a document",
		Long: "Prints the whole language as JSON, or with --markdown as the pages of the reference. The path of a block prints that block for\n" +
			"people, with all that is nested in it:\n\n" +
			"  pipeline schema gate\n  pipeline schema server vllm container\n  pipeline schema benchmark load\n\n" +
			"A nested block is found by its own name as well (pipeline schema container), and metrics by theirs (pipeline schema metric,\n" +
			"pipeline schema metric ttft).\n\n" +
			"The name of a document prints its JSON Schema: " + strings.Join(documentNames(), ", ") + ".",
		RunE: func(cmd *cobra.Command, args []string) error { return a.schema(cmd, f, args) },
	}
	cmd.Flags().BoolVar(&f.functions, "functions", false, "print the functions instead of the blocks")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print the reference: blocks, metrics, functions and commands")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON (what is printed without a block and without --markdown)")
	cmd.Flags().BoolVar(&f.jsonSchema, "json-schema", false,
		"print the JSON Schema of files in the JSON syntax (*.pipeline.json), for editors")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "json-schema")
	cmd.MarkFlagsMutuallyExclusive("functions", "json-schema")
	return cmd
}

func (a *app) schema(cmd *cobra.Command, f schemaFlags, path []string) error {
	registry, err := a.kinds()
	if err != nil {
		return exit(exitUsage, err)
	}
	doc := lang.Schema(registry, a.formats.OfDocuments().Names(), a.tests, a.arrivals)
	if len(path) == 1 {
		for _, s := range reports.Schemas() {
			if s.Name == path[0] || path[0] == "results" && s.Name == "results.json" {
				_, err := a.Out.Write(s.JSON)
				return err
			}
		}
	}
	switch {
	case len(path) > 0 && (f.functions || f.markdown || f.json || f.jsonSchema):
		return exit(exitUsage, errors.New("a block is printed for people; --json and --markdown print the whole language"))
	case len(path) > 0 && path[0] == "metric":
		return a.schemaMetrics(doc.Metrics, path[1:])
	case len(path) > 0:
		return a.schemaBlock(doc, path)
	case f.jsonSchema:
		return reference.JSONSchema(a.Out, doc)
	case f.markdown && f.functions:
		return reference.Functions(a.Out, function.Docs())
	case f.markdown:
		return writePages(a.Out, slices.DeleteFunc(a.referencePages(doc, cmd.Root(), nil),
			func(p reference.Page) bool { return !strings.HasSuffix(p.Name, ".md") }))
	case f.functions:
		return a.writeJSON(function.Docs())
	}
	return a.writeJSON(doc)
}

// documentNames returns the names of the documents that have a schema.
func documentNames() []string {
	var out []string
	for _, s := range reports.Schemas() {
		out = append(out, s.Name)
	}
	return out
}

// schemaMetrics prints all metrics, or those that match a reference or its prefix.
func (a *app) schemaMetrics(all []lang.MetricDoc, path []string) error {
	prefix := strings.TrimSuffix(strings.Join(append([]string{"metric"}, path...), "."), ".") + "."
	metrics := slices.DeleteFunc(slices.Clone(all), func(m lang.MetricDoc) bool { return !strings.HasPrefix(m.Reference+".", prefix) })
	if len(metrics) == 0 {
		return exit(exitUsage,
			fmt.Errorf("unknown metric %q; pipeline schema metric lists them, and a file declares others by measure blocks",
				strings.Join(path, ".")))
	}
	return reference.MetricTable(a.Out, metrics)
}

// schemaBlock prints the block at a path.
func (a *app) schemaBlock(doc lang.SchemaDoc, path []string) error {
	found, err := reference.Block(a.Out, doc, path)
	if err != nil || found {
		return err
	}
	var names []string
	for _, b := range doc.Blocks {
		if !slices.Contains(names, b.Type) {
			names = append(names, b.Type)
		}
	}
	return exit(exitUsage, fmt.Errorf("unknown block %q; the blocks of a file are %s, and the documents %s", strings.Join(path, " "),
		strings.Join(names, ", "), strings.Join(documentNames(), ", ")))
}

// referencePages returns the pages of docs/reference. Examples stand beside the arguments of blocks.
func (a *app) referencePages(doc lang.SchemaDoc, root *cobra.Command, examples reference.Examples) []reference.Page {
	var containers []steps.ContainerSupport
	for _, kind := range a.places {
		containers = append(containers, kind.Containers...)
	}
	return append(reference.BlockPages(doc, containers, examples), []reference.Page{
		{Name: "metrics.md", Write: func(w io.Writer) error { return reference.Metrics(w, doc.Metrics) }},
		{Name: "functions.md", Write: func(w io.Writer) error { return reference.Functions(w, function.Docs()) }},
		{Name: "results.md", Write: reference.Results},
		{Name: "../pipeline.schema.json", Write: func(w io.Writer) error { return reference.JSONSchema(w, doc) }},
		{Name: "commands.md", Write: func(w io.Writer) error { return reference.Commands(w, root) }},
		{Name: "events.md", Write: reference.Events},
	}...)
}

func writePages(w io.Writer, pages []reference.Page) error {
	for i, p := range pages {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := p.Write(w); err != nil {
			return err
		}
	}
	return nil
}
