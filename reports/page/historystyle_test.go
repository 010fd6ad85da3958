package page_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/page"
)

// TestHistoryStyleIsClosed: what the page of a history adds asks for nothing from elsewhere,
// and takes its colours from the themes, which are held to their contrast.
func TestHistoryStyleIsClosed(t *testing.T) {
	for _, banned := range []string{"url(", "@import", "@font-face", "http", "expression", "#", "rgb"} {
		if strings.Contains(page.HistoryStyle, banned) {
			t.Errorf("the style has %q", banned)
		}
	}
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9-]+)\)`).FindAllStringSubmatch(page.HistoryStyle, -1) {
		for i, theme := range themes(t) {
			if theme[m[1]] == "" {
				t.Errorf("theme %d has no colour %s", i, m[1])
			}
		}
	}
}
