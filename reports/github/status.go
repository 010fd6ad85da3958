package github

import (
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// maxDescription is what GitHub takes of a status, in characters.
const maxDescription = 140

// status is the commit status of a result. It has no neutral state: what does not fail the
// run is a success.
func status(s Status, doc *result.Document, o reports.Options) Status {
	s.Description = escape.Text(title(doc, o), maxDescription)
	switch {
	case doc.Status != result.StatusComplete && doc.ExitCode != result.ExitRegression, doc.ExitCode == result.ExitInfrastructure:
		s.State = "error"
	case conclusion(doc) == Failure:
		s.State = "failure"
	default:
		s.State = "success"
	}
	return s
}
