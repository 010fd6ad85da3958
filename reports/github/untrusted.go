package github

import "github.com/servegate/pipeline/reports/escape"

// ownFigures is what a reader of an untrusted result must know.
const ownFigures = "Measured by code of this pull request, in a run without secrets: the figures are its own."

// untrusted lowers a check run to what a result can show that the measured code itself has
// made: it can fail the check, and nothing in it can pass one.
func untrusted(k Check) Check {
	if k.Conclusion == Success {
		k.Conclusion = Neutral
	}
	k.Title = escape.Text("By its own figures: "+k.Title, maxTitle)
	k.Summary = "> ⚠️ " + ownFigures + "\n\n" + k.Summary
	return k
}

// untrustedStatus does so for a commit status, which has no neutral state: what could only
// be a success stays pending.
func untrustedStatus(s Status) Status {
	if s.State == "success" {
		s.State = "pending"
	}
	s.Description = escape.Text("By its own figures: "+s.Description, maxDescription)
	return s
}
