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
	if format != "text" && format != "markdown" && format != "html" { // these have the notes in them
		a.notes(doc.Warnings)
	}
	return exit(doc.ExitCode, nil)
}

// render writes a document in one of the formats of session.Formats.
func (a *app) render(doc *result.Document, format string) error {
	write, ok := session.Renderer(format)
	if !ok {
		return exit(exitUsage, noFormat(format))
	}
	a.redact.Value(doc)
	if err := write(a.Out, doc, reports.Options{Color: format == "text" && a.outColor(), Width: a.OutWidth()}); err != nil {
		return exit(exitInfrastructure, err)
	}
	return nil
}

// documentFormat is the flag that says how a result document is printed.
func documentFormat(fl *pflag.FlagSet, format *string, unless string) {
	fl.StringVar(format, "format", unless, "`format`: "+strings.Join(session.Formats(), ", "))
}

func noFormat(format string) error {
	return fmt.Errorf("--format %q is none of %s", format, strings.Join(session.Formats(), ", "))
}

func (a *app) reportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN|results.json",
		Short: "Render a stored result again",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, ok := session.Renderer(format); !ok {
				return exit(exitUsage, noFormat(format))
			}
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
	documentFormat(cmd.Flags(), &format, "text")
	return cmd
}
