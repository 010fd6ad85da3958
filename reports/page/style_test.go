package page_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// asset returns a file that all pages have.
func asset(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// themes are the blocks of colours in the style sheet: light, dark and print.
func themes(t *testing.T) []map[string]string {
	t.Helper()
	var out []map[string]string
	for _, block := range regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(asset(t, "style.css"), -1) {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{3,6});`).FindAllStringSubmatch(block[1], -1) {
			colours[m[1]] = m[2]
		}
		out = append(out, colours)
	}
	return out
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	hex = strings.TrimPrefix(hex, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	rgb, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

// TestNamesOfAnAxisAreWhole: the margin can be at the edge of the drawing, and its name is drawn around it.
func TestNamesOfAnAxisAreWhole(t *testing.T) {
	if !strings.Contains(asset(t, "style.css"), ".panel .axis .mark { overflow: visible; }") {
		t.Error("the drawing clips the names of its axis")
	}
}

// TestContrast holds texts to 4.5 to 1 and lines to 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	pairs := []struct {
		ink, paper string
		least      float64
	}{
		{"text", "page", 4.5}, {"soft", "page", 4.5}, {"link", "page", 4.5},
		{"bad", "page", 4.5}, {"warn", "page", 4.5}, {"good", "page", 4.5},
		{"text", "card", 4.5}, {"bad", "card", 4.5}, {"warn", "card", 4.5}, {"good", "card", 4.5},
		{"text", "worse1", 4.5}, {"text", "worse2", 4.5}, {"on-deep", "worse3", 4.5},
		{"text", "better1", 4.5}, {"text", "better2", 4.5}, {"on-deep", "better3", 4.5},
		{"text", "same", 4.5}, {"text", "open", 4.5}, {"text", "none", 4.5},
		{"base", "page", 3}, {"head", "page", 3}, {"head", "beyond", 3}, {"bad", "beyond", 3},
		{"s1", "page", 3}, {"s2", "page", 3}, {"s3", "page", 3}, {"s4", "page", 3}, {"s5", "page", 3}, {"s6", "page", 3},
	}
	found := themes(t)
	if len(found) != 3 {
		t.Fatalf("%d themes", len(found))
	}
	for i, theme := range found {
		for _, p := range pairs {
			if theme[p.ink] == "" || theme[p.paper] == "" {
				t.Errorf("theme %d lacks %s or %s", i, p.ink, p.paper)
				continue
			}
			a, b := luminance(t, theme[p.ink]), luminance(t, theme[p.paper])
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < p.least {
				t.Errorf("theme %d: %s on %s has %.2f, needs %g", i, p.ink, p.paper, ratio, p.least)
			}
		}
	}
}

// TestStyleIsClosed: the style sheet asks for nothing from elsewhere.
func TestStyleIsClosed(t *testing.T) {
	for _, banned := range []string{"url(", "@import", "@font-face", "http", "expression"} {
		if strings.Contains(asset(t, "style.css"), banned) {
			t.Errorf("the style has %q", banned)
		}
	}
	for _, banned := range []string{"innerHTML", "eval", "fetch", "import(", "http"} {
		if strings.Contains(asset(t, "script.js"), banned) {
			t.Errorf("the script has %q", banned)
		}
	}
}
