package github

import (
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// maxDescription is the limit of GitHub for a status, in characters.
const maxDescription = 140

// status returns the commit status of a result. It has no neutral state: a result that is neither a
// pass nor a failure stays pending.
func status(s Status, doc *result.Document, o reports.Options) Status {
	s.Description = escape.Text(title(doc, o), maxDescription)
	s.State = string(doc.Outcome().State)
	return s
}
