package cli

import (
	"fmt"
	"strings"
)

// noPipelineFiles returns an error if an argument of a command that reads results is a pipeline file.
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
