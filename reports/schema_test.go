package reports

import (
	"reflect"
	"testing"

	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/internal/schematest"
	"github.com/servegate/pipeline/reports/series"
)

// The schemas of documents other than results.json are generated from their types.
func TestSchemasAreCurrent(t *testing.T) {
	const note = "Readers ignore unknown members of the same major version."
	for _, d := range []schematest.Document{
		{Name: "bisect", Title: "bisect.json of pipeline", Type: reflect.TypeFor[bisection.Document](), Version: bisection.Schema, Note: note},
		{Name: "history", Title: "history.json of pipeline", Type: reflect.TypeFor[series.History](), Version: series.Schema, Note: note},
		{Name: "comparison", Title: "Comparison of pipeline as JSON", Type: reflect.TypeFor[compareDocument](),
			Version: CompareSchema, Note: note},
		{Name: "notice", Title: "The verdict as a webhook gets it", Type: reflect.TypeFor[Notice](), Version: NoticeSchema, Note: note},
	} {
		schematest.Current(t, "..", d, "../docs/"+d.Name+".schema.json", "schemas/"+d.Name+".schema.json")
	}
}
