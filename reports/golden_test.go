package reports_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// format is a row of the table.
func format(name string) reports.Format {
	f, ok := reports.AllFormats().Lookup(name)
	if !ok {
		panic("no format " + name)
	}
	return f
}

// suffixes are those of the golden files, of the formats that are read whole.
var suffixes = map[string]string{"markdown": "md", "text": "txt", "junit": "xml", "csv": "csv", "json": "json"}

// keptDocuments are those whose JSON is kept: the other ones have the same members.
var keptDocuments = []string{"regression", "head-dead", "sides", "hostile"}

func TestGolden(t *testing.T) {
	for name, built := range fixtures() {
		t.Run(name, func(t *testing.T) {
			doc := reread(t, built)
			if name == "sides" || name == "hostile" {
				golden.Equal(t, "testdata/"+name+".metrics.txt", written(t, "openmetrics", doc, reports.Options{}))
				golden.Equal(t, "testdata/"+name+".hud.json", written(t, "pytorch-hud", doc, reports.Options{}))
			}
			for format, suffix := range suffixes {
				if format == "json" && !slices.Contains(keptDocuments, name) {
					continue
				}
				golden.Equal(t, "testdata/"+name+"."+suffix, written(t, format, doc, reports.Options{}))
			}
		})
	}
}

// written is a document in one of the formats.
func written(t *testing.T, name string, doc *result.Document, o reports.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := format(name).Document(&out, doc, o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.Bytes()
}

// reread is doc as any reader of results.json has it.
func reread(t *testing.T, doc *result.Document) *result.Document {
	t.Helper()
	var out bytes.Buffer
	if err := result.Encode(&out, doc); err != nil {
		t.Fatal(err)
	}
	got, err := result.Decode(&out, result.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
