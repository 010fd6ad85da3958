package steps

import (
	"os"
	"path/filepath"
	"strings"
)

// OutputVar names the environment variable with the path of the file that a command writes its outputs to.
const OutputVar = "PIPELINE_OUTPUT"

// outputPrefix begins the name of that file.
const outputPrefix = "pipeline-output-"

// CreateOutputFile creates an empty file for the outputs of a command and returns its path. folder is "" for the folder of
// temporary files. The caller removes it: outputs may be keys.
func CreateOutputFile(folder string) (string, error) {
	f, err := os.CreateTemp(folder, outputPrefix+"*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// IsOutputFile reports whether [CreateOutputFile] could have made the file at a path.
func IsOutputFile(path string) bool {
	number, ok := strings.CutPrefix(filepath.Base(path), outputPrefix)
	return ok && filepath.IsAbs(path) && number != "" && strings.Trim(number, "0123456789") == ""
}
