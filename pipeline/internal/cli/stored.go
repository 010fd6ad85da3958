package cli

import (
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

func (a *app) printDocument(doc *result.Document, asJSON bool) error {
	var err error
	if asJSON {
		err = reports.JSON(a.Out, doc)
	} else {
		err = reports.Text(a.Out, doc, reports.Options{Color: a.outColor(), Width: a.OutWidth()})
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	return exit(doc.ExitCode, nil)
}

func (a *app) reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN|results.json",
		Short: "Render a stored result again",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			render, ok := session.Renderer(format)
			if !ok {
				return exit(exitUsage, fmt.Errorf("--format %q is none of markdown, text, json, html, junit, csv", format))
			}
			doc, err := session.ReadDocument(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			a.redact.Value(doc)
			if err := render(a.Out, doc, reports.Options{Color: format == "text" && a.outColor(), Width: a.OutWidth()}); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "markdown, `text`, json, html, junit or csv")
	return cmd
}
