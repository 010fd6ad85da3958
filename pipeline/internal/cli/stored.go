package cli

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// printDocument prints a judged document, and ends with its exit status.
func (a *app) printDocument(doc *result.Document, format string) error {
	if err := a.render(doc, format); err != nil {
		return err
	}
	if f, _ := a.formats.Lookup(format); !f.Warns {
		a.notes(doc.Warnings)
	}
	return exit(doc.ExitCode, nil)
}

// render writes a document in one of the formats.
func (a *app) render(doc *result.Document, format string) error {
	f, ok := a.formats.OfDocuments().Lookup(format)
	if !ok {
		return exit(exitUsage, fmt.Errorf("there is no format %q", format))
	}
	a.redact.Value(doc)
	if err := f.Document(a.Out, doc, reports.Options{Color: a.outColor(), Width: a.OutWidth()}); err != nil {
		return exit(exitInfrastructure, err)
	}
	return nil
}

// formatFlag is the flag that chooses one of the formats.
func formatFlag(fl *pflag.FlagSet, format *string, formats reports.Formats) {
	*format = "text"
	fl.Var(choice{format, formats.Names()}, "format", "`format`: "+strings.Join(formats.Names(), ", "))
}

func (a *app) reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN|results.json",
		Short: "Render a stored result again",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := session.ReadDocument(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			if err := judge.Verify(doc); err != nil {
				a.warn(fmt.Sprintf("%s says what its own runs do not: %v", args[0], err))
			}
			return a.render(doc, format)
		},
	}
	formatFlag(cmd.Flags(), &format, a.formats.OfDocuments())
	return cmd
}
