package exec

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/steps"
)

const (
	maxOutput = 1 << 20  // bytes in the output file
	maxLine   = 64 << 10 // bytes in one line, name and value
)

// parseOutputs reads name=value lines. It skips empty lines; the last value of a name wins. Every declared name
// must be present, and no other.
func parseOutputs(r io.Reader, declared []string) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxOutput+1))
	if err != nil {
		return nil, fmt.Errorf("read the output file: %w", err)
	}
	if len(data) > maxOutput {
		return nil, fmt.Errorf("the output file is larger than %d bytes", maxOutput)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	outputs := make(map[string]string, len(declared))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
			return nil, fmt.Errorf("line %d of the output file is not text", n)
		case !ok:
			return nil, fmt.Errorf("line %d of the output file is not name=value; values of several lines are not supported", n)
		case !slices.Contains(declared, name):
			return nil, fmt.Errorf("the command wrote the output %.60q, which outputs does not list", name)
		}
		outputs[name] = value
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("a line of the output file is longer than %d bytes", maxLine)
	}
	for _, name := range declared {
		if _, ok := outputs[name]; !ok {
			return nil, fmt.Errorf("the command did not write the output %q; it must write a line %s=VALUE to the file named by %s",
				name, name, steps.OutputVar)
		}
	}
	return outputs, nil
}
