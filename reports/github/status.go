package github

import (
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// maxDescription is what GitHub takes of a status, in characters.
const maxDescription = 140

// status returns the commit status of a result. GitHub has no neutral state for it: what neither passes nor fails the
// run stays pending.
func status(s Status, doc *result.Document, o reports.Options) Status {
	s.Description = escape.Text(title(doc, o), maxDescription)
	switch {
	case doc.Status != result.StatusComplete && doc.ExitCode != result.ExitRegression, doc.ExitCode == result.ExitInfrastructure:
		s.State = "error"
	case conclusion(doc) == Failure:
		s.State = "failure"
	case conclusion(doc) == Success:
		s.State = "success"
	default:
		s.State = "pending"
	}
	return s
}
