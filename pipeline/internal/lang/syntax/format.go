package syntax

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/pmezard/go-difflib/difflib"
)

// Format formats src in the canonical style. It returns JSON, and files that Load would reject
// before parsing, unchanged.
func Format(src []byte) []byte {
	if len(src) > MaxFileSize || isJSON(StdinName, src) || check("", src).HasErrors() {
		return src
	}
	return hclwrite.Format(src)
}

// Diff returns the unified diff that turns a into b, with three lines of context, or "" if they are
// equal.
func Diff(name string, a, b []byte) string {
	if string(a) == string(b) {
		return ""
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A:        lines(a),
		B:        lines(b),
		FromFile: name,
		ToFile:   name + " (formatted)",
		Context:  3,
	})
	if err != nil {
		// Only a failing writer makes it fail, and it writes to memory.
		return fmt.Sprintf("--- %s\n(the difference cannot be shown: %s)\n", name, err)
	}
	return text
}

// lines splits text after its line ends, and marks a last line without one as diff(1) does.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	last := len(all) - 1
	if all[last] == "" {
		return all[:last]
	}
	all[last] += "\n\\ No newline at end of file\n"
	return all
}
