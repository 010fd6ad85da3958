package exec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxOutput = 1 << 20  // bytes of the output file
	maxLine   = 64 << 10 // bytes of one value with its name
)

// parseOutputs reads lines name=value. Empty lines are skipped, a later value of a name
// replaces an earlier one. Every declared name must be there and no other.
func parseOutputs(r io.Reader, declared []string) (map[string]string, error) {
	limited := &io.LimitedReader{R: r, N: maxOutput + 1}
	lines := bufio.NewScanner(limited)
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
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line of the output file is longer than %d bytes", maxLine)
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("read the output file: %w", lines.Err())
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("the output file is larger than %d bytes", maxOutput)
	}
	for _, name := range declared {
		if _, ok := outputs[name]; !ok {
			return nil, fmt.Errorf("the command did not write the output %q; it must write a line %s=VALUE to the file named by %s", name, name, OutputVar)
		}
	}
	return outputs, nil
}
