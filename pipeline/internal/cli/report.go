package cli

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// printDocument prints a judged document and returns its exit status.
func (a *app) printDocument(doc *result.Document, format reports.Format, o reports.Options) error {
	if err := a.render(doc, format, o); err != nil {
		return err
	}
	if !format.Warns {
		a.notes(doc.Warnings)
	}
	return exit(doc.ExitCode, nil)
}

// render writes a document in a format.
func (a *app) render(doc *result.Document, format reports.Format, o reports.Options) error {
	a.redact.Value(doc)
	o.Color, o.Width = a.outColor(), a.OutWidth()
	if err := format.Document(a.Out, doc, o); err != nil {
		return exit(exitInfrastructure, err)
	}
	return nil
}

// formatFlag adds --format with the given formats.
func formatFlag(cmd *cobra.Command, format *reports.Format, formats reports.Formats) {
	options := make([]option[reports.Format], len(formats))
	for i, f := range formats {
		options[i] = option[reports.Format]{name: f.Name, value: f}
	}
	enumFlag(cmd, format, "format", "text", options, "`format`")
}

func (a *app) reportCommand() *cobra.Command {
	var format reports.Format
	cmd := &cobra.Command{
		Use:   "report RUN|results.json",
		Short: "Render a stored result again",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noPipelineFiles("report", args); err != nil {
				return err
			}
			doc, err := store.ReadDocument(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			if err := judge.Verify(doc, a.tests); err != nil {
				a.warn(fmt.Sprintf("%s does not follow from its own runs: %v", args[0], err))
			}
			return a.render(doc, format, reports.Options{})
		},
	}
	formatFlag(cmd, &format, a.formats.OfDocuments())
	return cmd
}
