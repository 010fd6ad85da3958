package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// keysOf collects the names of the fields of a document.
func keysOf(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			keysOf(inner, into)
		}
	case map[string]any:
		for name, inner := range v {
			if !strings.Contains(name, ".") { // the name of a metric
				into[name] = true
			}
			keysOf(inner, into)
		}
	}
}

// A result that holds no secret can be read and judged again, whichever of its words is a password.
func TestVocabularyIsNotMasked(t *testing.T) {
	words := map[string]bool{"improvement": true, "inconclusive": true, "max_concurrency": true, "poisson": true}
	var events strings.Builder
	for _, info := range event.Types {
		words[string(info.Type)] = true
		fmt.Fprintf(&events, "{\"type\":%q}\n", info.Type)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "reports", "testdata", "head-dead.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	keysOf(document, words)
	original, err := result.Decode(bytes.NewReader(text), result.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"%s", "  \"%s\": {\n", "%s:\n  password: pK7wX2mQ9zR4\n"} {
		var environ []string
		for word := range words {
			environ = append(environ, "DB_PASSWORD="+strings.ReplaceAll(form, "%s", word))
		}
		a := newApp(Streams{Environ: func() []string { return environ }})
		if got := a.redact.String(events.String()); got != events.String() {
			t.Errorf("as %q: events became %s", form, got)
		}
		got, err := result.Decode(bytes.NewReader(a.redact.JSON(text)), result.Limits{})
		if err != nil {
			t.Errorf("as %q: %v", form, err)
			continue
		}
		if got, want := fmt.Sprint(judge.Verify(got, a.tests)), fmt.Sprint(judge.Verify(original, a.tests)); got != want {
			t.Errorf("as %q: judged again: %s, want %s", form, got, want)
		}
	}
}

func TestOtherWordsAreMasked(t *testing.T) {
	a := newApp(Streams{Environ: func() []string {
		return []string{"DB_PASSWORD=correcthorse", "API_TOKEN=decisions-pK7wX2",
			"GOOGLE_CREDENTIALS={\n  \"status\": \"pK9wX2mQ9zR4\",\n  \"x\"\n}"}
	}})
	for _, text := range []string{"correcthorse", "decisions-pK7wX2", `"status": "pK9wX2mQ9zR4",`} {
		if got := a.redact.String(text); !strings.Contains(got, event.Mask) {
			t.Errorf("%q is not masked: %q", text, got)
		}
	}
}
