package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/interchange"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

func (a *app) gateCommand() *cobra.Command {
	var flags configFlags
	var place historyFlag
	var file []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gate RUN",
		Short: "Judge a stored run again, by its own file or another",
		Long:  "Judges the runs that a run directory holds without measuring anything, for example with another margin\nor with gates that the file did not have then. The exit status is that of `run`.",
		Args:  cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			stored, err := session.StoredVars(args[0])
			if err != nil {
				return exit(exitUsage, err)
			}
			judge := *a
			judge.Environ = func() []string { return append(a.Environ(), stored...) }
			paths := file
			if len(paths) == 0 {
				paths = []string{session.SourceDir(args[0])}
			}
			cfg, err := judge.load(flags, paths)
			if err != nil {
				return err
			}
			past, err := a.past(ctx, place, cfg)
			if err != nil {
				return err
			}
			doc, err := session.Rejudge(cfg, args[0], past)
			if err != nil {
				return exit(exitUsage, err)
			}
			return a.printDocument(doc, asJSON)
		}),
	}
	flags.register(cmd)
	place.register(cmd)
	cmd.Flags().StringArrayVarP(&file, "file", "f", nil, "pipeline `file` with the gates (the run's own unless set)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result document")
	return cmd
}

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
			if err := render(a.Out, doc, reports.Options{Color: format == "text" && a.outColor(), Width: a.OutWidth()}); err != nil {
				return exit(exitInfrastructure, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "markdown, `text`, json, html, junit or csv")
	return cmd
}

func (a *app) compareCommand() *cobra.Command {
	var markdown bool
	var f importFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Set two results side by side, ours or other tools', without a gate",
		Long:  "A and B are run directories, results files, or files that `import` reads.\nThe two are described, not judged: they were not measured alternately in one session.",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			sides := make([]side, len(args))
			for i, arg := range args {
				var err error
				if sides[i], err = readSide(arg, f.tool); err != nil {
					return exit(exitUsage, err)
				}
			}
			if err := documents(f, sides); err != nil {
				return exit(exitUsage, err)
			}
			return a.printComparison(sides[0].doc, sides[1].doc, markdown)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a markdown table")
	return cmd
}

// printComparison prints the table, and below it what keeps the two from being like.
func (a *app) printComparison(first, second *result.Document, markdown bool) error {
	format := reports.FormatText
	if markdown {
		format = reports.FormatMarkdown
	}
	options := reports.Options{Color: a.outColor() && !markdown, Width: a.OutWidth()}
	if err := reports.Compare(a.Out, first, second, format, options); err != nil {
		return exit(exitInfrastructure, err)
	}
	notes := slices.Concat(interchange.Check(first, second), first.Warnings, second.Warnings)
	for _, note := range slices.Compact(notes) {
		fmt.Fprintf(a.Out, "\nnote: %s\n", escape.Line(note, 1000))
	}
	return nil
}
