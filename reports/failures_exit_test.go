package reports

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// How a process ended is said once, whether the launcher says "1" or "exit status 1".
func TestExitIsSaidOnce(t *testing.T) {
	for exit, want := range map[string]string{"exit status 3": "exit status 3", "3": "exit 3", "killed": "exit killed"} {
		var b strings.Builder
		for _, span := range (&failureGroup{failure: &result.Failure{Phase: "ready", Exit: exit}}).note() {
			b.WriteString(span.Text)
		}
		if text := b.String(); !strings.Contains(text, want) || strings.Contains(text, "exit exit") {
			t.Errorf("%s: %q", exit, text)
		}
	}
}
