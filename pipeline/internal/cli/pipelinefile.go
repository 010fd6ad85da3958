package cli

import (
	"fmt"
	"strings"
)

// noPipelineFiles returns an error for a pipeline file among the arguments of a command that reads results.
func noPipelineFiles(command string, args []string) error {
	for _, name := range args {
		for _, suffix := range []string{".hcl", ".hcl.json", ".pipeline.json"} {
			if strings.HasSuffix(name, suffix) {
				return exit(exitUsage,
					fmt.Errorf("%s is a pipeline file, and %s reads results: carry it out with pipeline run %s --out RUN, and give the folder RUN",
						name, command, name))
			}
		}
	}
	return nil
}
