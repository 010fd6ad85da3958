package note

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// rankOf returns the rank of a result.
func rankOf(doc *result.Document) rank {
	switch doc.Outcome().Check {
	case result.CheckSuccess:
		return passed
	case result.CheckNeutral:
		return undecided
	}
	return failed
}

// Compose joins the sections of a comment, the worst first. If they do not fit, the least important
// ones lose what follows their lead.
func Compose(mark, file, banner string, sections []Section, full string, budget int) string {
	several := len(sections) > 1
	start := mark + "\n"
	if several {
		start += overview(file, sections) + banner + "\n"
		banner = ""
	}
	short := make([]bool, len(sections))
	for cut := len(sections); ; cut-- {
		var b strings.Builder
		b.WriteString(start)
		for i, s := range sections {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(s.text(several, short[i], banner, full))
		}
		text := b.String()
		if len(text) <= budget || cut == 0 {
			return text
		}
		short[cut-1] = true
	}
}

// overview returns the heading over several sections.
func overview(file string, sections []Section) string {
	n := map[rank]int{}
	for _, s := range sections {
		n[s.rank]++
	}
	icon, parts := model.IconPass, []string(nil)
	for _, r := range []struct {
		rank rank
		icon model.Icon
		what string
	}{{failed, model.IconRegression, "failed"}, {undecided, model.IconWarning, "not decided"}, {passed, model.IconPass, "passed"}} {
		if n[r.rank] == 0 {
			continue
		}
		if len(parts) == 0 {
			icon = r.icon
			parts = append(parts, fmt.Sprintf("%d of %d jobs %s", n[r.rank], len(sections), r.what))
		} else {
			parts = append(parts, fmt.Sprintf("%d %s", n[r.rank], r.what))
		}
	}
	text := "### " + icon.Emoji() + " Performance: " + strings.Join(parts, ", ")
	if file != "" {
		text += " — " + escape.Code(file, 160)
	}
	return text + "\n"
}

// Worst returns the worst conclusion of sections.
func Worst(all []Section) result.Check {
	worst := passed
	for _, s := range all {
		worst = min(worst, s.rank)
	}
	return [...]result.Check{failed: result.CheckFailure, undecided: result.CheckNeutral, passed: result.CheckSuccess}[worst]
}
