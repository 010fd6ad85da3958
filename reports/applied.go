package reports

import (
	"fmt"

	"github.com/servegate/pipeline/reports/model"
)

// applied returns the section on what other tools applied to start the compared sides, as a difference of the two.
func (v *view) applied() model.Section {
	s := model.Section{Title: model.Plain("What was applied"), Folded: true}
	for _, sides := range v.doc.AppliedSides() {
		lines, omitted := sides.Diff()
		s.Notes = append(s.Notes, model.Plain(sides.Note()))
		if len(lines) > 0 {
			s.Logs = append(s.Logs, model.Log{Title: model.Plain("Difference of " + sides.Names(v.doc.Targets).String()), Lines: lines})
		}
		if omitted > 0 {
			s.Omitted = append(s.Omitted, model.Plain(fmt.Sprintf("and %d more lines of the difference", omitted)))
		}
	}
	return s
}
