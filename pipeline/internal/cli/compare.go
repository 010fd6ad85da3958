package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/interchange"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

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

// side is one side of `compare`: a document of ours, or results of another tool.
type side struct {
	arg  string
	doc  *result.Document
	runs []interchange.Run
}

func readSide(arg, tool string) (side, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		doc, err := session.ReadDocument(arg)
		return side{arg: arg, doc: doc}, err
	}
	runs, err := session.ReadForeign(arg, interchange.ReadOptions{Tool: tool})
	if errors.Is(err, interchange.ErrOurs) {
		doc, err := session.ReadDocument(arg)
		return side{arg: arg, doc: doc}, err
	}
	return side{arg: arg, runs: runs}, err
}

// documents makes a document of each side. Cells are told apart by the same parameters on
// both: those asked for, or those that differ anywhere.
func documents(f importFlags, sides []side) error {
	var all []interchange.Run
	for _, s := range sides {
		all = append(all, s.runs...)
	}
	if len(f.by) == 0 && len(all) > 0 {
		joint, err := interchange.Document(all, f.options(""))
		if err != nil {
			return err
		}
		if len(joint.Benchmarks) > 0 {
			f.by = joint.Benchmarks[0].Axes
		}
	}
	for i := range sides {
		if sides[i].doc != nil {
			continue
		}
		doc, err := interchange.Document(sides[i].runs, f.options(sides[i].arg))
		if err != nil {
			return fmt.Errorf("%s: %w", sides[i].arg, err)
		}
		sides[i].doc = doc
	}
	return nil
}
