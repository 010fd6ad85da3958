package github

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/result"
)

// maxLogAnnotations is the number of annotations per level that GitHub shows for each step.
const maxLogAnnotations = 10

var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// LogAnnotations returns log lines that the runner turns into annotations of the gates that did not
// pass. They are for jobs whose token cannot write check runs.
func LogAnnotations(doc *result.Document, o reports.Options) []string {
	var out []string
	count := map[string]int{}
	for _, a := range note.Annotations(doc, o) {
		command := cmp.Or(map[string]string{"failure": "error"}[a.Level], a.Level)
		if count[command]++; count[command] > maxLogAnnotations {
			continue
		}
		out = append(out, fmt.Sprintf("::%s file=%s,line=%d,endLine=%d,title=%s::%s",
			command, commandProperty.Replace(a.Path), a.StartLine, a.EndLine, commandProperty.Replace(a.Title), commandData.Replace(a.Message)))
	}
	return out
}
