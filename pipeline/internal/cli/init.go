package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/starter"
	"github.com/spf13/cobra"
)

func (a *app) initCommand() *cobra.Command {
	var github bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a pipeline file to start from",
		Long: "Writes " + starter.PipelineFile + ", which compares two images of a server, and with --github the workflows that run it\n" +
			"for pull requests and every night. Nothing is ever overwritten.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			written, err := starter.Write(dir, github)
			for _, path := range written {
				fmt.Fprintln(a.Out, path)
			}
			if _, refused := errors.AsType[*fs.PathError](err); refused {
				return exit(exitInfrastructure, err)
			}
			if err != nil {
				return exit(exitUsage, err)
			}
			_, err = fmt.Fprintf(a.Out, "\nTry it without a GPU:  pipeline run %s --simulate\n", filepath.Join(dir, starter.PipelineFile))
			return err
		},
	}
	cmd.Flags().BoolVar(&github, "github", false, "write GitHub workflows as well")
	return cmd
}
