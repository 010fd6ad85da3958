package metric_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
)

func packageDoc(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "metric.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc.Text()
}

func ExampleLookup() {
	m, _ := metric.Lookup("ttft.p99")
	fmt.Println(m.Label, m.Unit, m.Direction, m.MinRequests)

	_, ok := metric.Lookup("ttft.p999")
	fmt.Println(ok, metric.Suggest("ttft.p999"))
	// Output:
	// TTFT p99 s lower 1000
	// false ttft.p99
}
