package reports

import (
	"fmt"

	"github.com/servegate/pipeline/reports/model"
)

// applied returns the section on what other tools applied to start the compared sides, as a difference of the two.
func (v *view) applied() model.Section {
	s := model.Section{Title: model.Plain("What was applied"), Folded: true}
	seen := map[[2]string]bool{}
	for _, sides := range v.doc.Sides {
		base, head := v.doc.AppliedBy(sides)
		pair := [2]string{sides.BaseTarget, sides.HeadTarget}
		if base == nil || seen[pair] {
			continue
		}
		seen[pair] = true
		lines, omitted := base.Diff(head, sides.BaseTarget, sides.HeadTarget)
		s.Notes = append(s.Notes, model.Plain(sides.AppliedNote(base, head)))
		if len(lines) > 0 {
			s.Logs = append(s.Logs, model.Log{Title: model.Plain("Difference of " + sides.Names(v.doc.Targets).String()), Lines: lines})
		}
		if omitted > 0 {
			s.Omitted = append(s.Omitted, model.Plain(fmt.Sprintf("and %d more lines of the difference", omitted)))
		}
	}
	return s
}
