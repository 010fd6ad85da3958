package reports_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/internal/schematest"
	"github.com/servegate/pipeline/reports/series"
)

// Searches, histories and comparisons are valid by their published schemas, which refuse others.
func TestDocumentsAreValid(t *testing.T) {
	type document struct {
		of    string
		write func(*bytes.Buffer) error
		// edit makes it invalid.
		edit [2]string
	}
	all := map[string]document{
		"a search": {"bisect", func(b *bytes.Buffer) error { return bisection.JSON(b, searchedTwenty(), reports.Options{}) },
			[2]string{`"range"`, `"perhaps"`}},
		"nights": {"history", func(b *bytes.Buffer) error { return series.JSON(b, sixtyNights(t), reports.Options{}) },
			[2]string{`"since": -1`, `"since": -2`}},
		"no night": {"history", func(b *bytes.Buffer) error {
			return series.JSON(b, &series.History{Schema: series.Schema}, reports.Options{})
		}, [2]string{`"series": []`, `"series": null`}},
		"sides": {"comparison", func(b *bytes.Buffer) error {
			text, err := os.ReadFile("testdata/compare-named.json") // which TestCompareNamed writes
			b.Write(text)
			return err
		}, [2]string{`"n": `, `"n": -`}},
	}
	for name, d := range all {
		schema := schematest.Compile(t, "../docs/"+d.of+".schema.json")
		var out bytes.Buffer
		if err := d.write(&out); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(schema, out.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		broken := strings.Replace(out.String(), d.edit[0], d.edit[1], 1)
		if broken == out.String() || schematest.Validate(schema, []byte(broken)) == nil {
			t.Errorf("%s is valid with %s, or has no %s", name, d.edit[1], d.edit[0])
		}
	}
}
