package reports_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestComment holds the four forms of a comment: each tells in few words what to do, and folds the rest.
func TestComment(t *testing.T) {
	inconclusiveOnly := inconclusive()
	inconclusiveOnly.Gates[0].OnInconclusive = result.Warn
	base := infrastructure()
	base.Status, base.StatusReason = result.StatusComplete, ""
	for name, tt := range map[string]struct {
		doc  *result.Document
		want []string
	}{
		"regression":   {regression(), []string{"v0.11.0 is **14.4\u00a0% slower** than v0.10.2 in **TTFT p99**", "699 → 800\u00a0ms"}},
		"pass":         {passing(), []string{"passed"}},
		"inconclusive": {inconclusiveOnly, []string{"Merging is not blocked. To decide: `repeat { max = 5 }`, about 1\u00a0h 36\u00a0min"}},
		"not your change": {base, []string{"Not your change:** the base fails too", "For the maintainer:** Repair",
			"There is nothing to accept"}},
	} {
		parts, err := reports.MarkdownParts(tt.doc, reports.Options{Comment: true})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("&#123;", "{", "&#125;", "}").Replace(parts.Heading + parts.Lead + parts.Rest)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text)
			}
		}
		seen, _, _ := strings.Cut(text, "<details>")
		if words := len(strings.Fields(strings.ReplaceAll(seen, "|", " "))); words > 190 { // the commands need the rest of 250
			t.Errorf("%s: %d words before the folds", name, words)
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "|") && strings.Count(line, "|")-1 > 6 {
				t.Errorf("%s: more than six columns: %s", name, line)
			}
		}
		for _, not := range []string{"How to read this", "Environment", "Load generator", "Measured values"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q belongs on the page", name, not)
			}
		}
	}
}
