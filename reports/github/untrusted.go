package github

import (
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/publish/note"
)

// untrusted limits a check run to what an untrusted result can show: the measured code may have
// made it, so it can fail the check but not pass it.
func untrusted(k Check) Check {
	if k.Conclusion == Success {
		k.Conclusion = Neutral
	}
	k.Title = escape.Text("By its own figures: "+k.Title, maxTitle)
	k.Summary = "> ⚠️ " + note.OwnFigures("pull request") + "\n\n" + k.Summary
	return k
}

// untrustedStatus does the same for a commit status. It has no neutral state, so a success stays
// pending.
func untrustedStatus(s Status) Status {
	if s.State == "success" {
		s.State = "pending"
	}
	s.Description = escape.Text("By its own figures: "+s.Description, maxDescription)
	return s
}
