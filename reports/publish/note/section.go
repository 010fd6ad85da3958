package note

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/escape"
)

// Section is the part of one leg of a run in the common comment. It is stored in the
// comment between invisible marks, because a later leg cannot render what another one measured and
// must not lose it.
type Section struct {
	leg     string // see LegID
	label   string // names the leg if there are several
	matrix  bool   // always show the label
	session string // of the program's run, so that two runs of one job have two sections
	attempt int    // of the run
	rank    rank
	// title is the verdict as a heading, lead the part for all readers, rest the tables.
	title, lead, rest string
}

// rank orders sections, the worst first.
type rank int

const (
	failed rank = iota
	undecided
	passed
)

var (
	sectionLine = lazyregexp.New(
		`^<!-- pipeline:leg v1 leg=([0-9a-f]{0,16}) label=([0-9a-f]*)( matrix)? session=([0-9a-f]{16}) attempt=([0-9]{1,18}) rank=([012]) -->$`)
)

// The marks within a section. Text between title and lead, and between lead and rest, belongs to
// the comment, not to the section.
const (
	leadLine = "<!-- pipeline:lead -->"
	foldLine = "<!-- pipeline:fold -->"
	restLine = "<!-- pipeline:rest -->"
	endLine  = "<!-- pipeline:end -->"
)

func (s Section) String() string {
	matrix := ""
	if s.matrix {
		matrix = " matrix"
	}
	return fmt.Sprintf("<!-- pipeline:leg v1 leg=%s label=%s%s session=%s attempt=%d rank=%d -->",
		s.leg, hex.EncodeToString([]byte(s.label)), matrix, s.session, s.attempt, s.rank)
}

// inert breaks marks in text that may contain foreign input, such as a line of a log.
func inert(text string) string {
	return strings.ReplaceAll(text, "<!-- pipeline:", "<!-\u200b- pipeline:")
}

// ParseSections reads the sections of a comment. A comment that was edited may have lost some.
func ParseSections(body string) []Section {
	var out []Section
	var s *Section
	var into *string
	for line := range strings.Lines(strings.ReplaceAll(body, "\r\n", "\n")) {
		bare := strings.TrimSuffix(line, "\n")
		if found, ok := parseSection(bare); ok {
			s, into = &found, &found.title
			continue
		}
		if s == nil {
			continue
		}
		switch bare {
		case leadLine:
			into = &s.lead
		case restLine:
			into = &s.rest
		case foldLine:
			into = nil
		case endLine:
			out = append(out, *s)
			s = nil
		default:
			if into == nil {
				continue
			}
			*into += line
			if into == &s.title {
				s.title, into = strings.TrimSuffix(bare, s.suffix()), nil
			}
		}
	}
	return out
}

func parseSection(line string) (Section, bool) {
	parts := sectionLine.FindStringSubmatch(line)
	if parts == nil {
		return Section{}, false
	}
	label, _ := hex.DecodeString(parts[2]) // an odd number of digits is not ours; only the label is lost
	attempt, _ := strconv.Atoi(parts[5])
	number, _ := strconv.Atoi(parts[6])
	return Section{leg: parts[1], label: string(label), matrix: parts[3] != "", session: parts[4], attempt: attempt, rank: rank(number)}, true
}

// same reports whether both are sections of one leg on one measurement.
func (s Section) same(o Section) bool {
	return s.leg == o.leg && s.session == o.session && s.attempt == o.attempt
}

// replaces reports whether s replaces o: it is the same section or a later attempt.
func (s Section) replaces(o Section) bool {
	return s.same(o) || s.leg == o.leg && s.attempt > o.attempt
}

// Merge joins sections without replaced ones, the worst first.
func Merge(all []Section) []Section {
	var out []Section
	for i, s := range all {
		replaced := slices.ContainsFunc(all[i+1:], func(o Section) bool { return o.replaces(s) }) ||
			slices.ContainsFunc(all[:i], func(o Section) bool { return o.replaces(s) && !o.same(s) })
		if !replaced {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Section) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.label, b.label), cmp.Compare(a.session, b.session))
	})
	return out
}

// suffix returns the name of the leg in a title. It is not stored with the title, because it is
// shown only if there are other legs.
func (s Section) suffix() string {
	if s.label == "" {
		return ""
	}
	return " — " + escape.Code(s.label, 100)
}

// text returns a Section, one of several or the only one. short omits its rest and refers to full.
func (s Section) text(several, short bool, banner, full string) string {
	title := s.title
	if several || s.matrix {
		title += s.suffix()
	}
	text := s.String() + "\n" + title + "\n" + banner + leadLine + "\n" + s.lead
	switch {
	case short:
		return text + foldLine + "\n\n_The rest was left out for size: see " + full + "._\n" + endLine + "\n"
	case several && s.rank == passed:
		return text + foldLine + "\n\n<details><summary>Report</summary>\n\n" + restLine + "\n" + s.rest + endLine + "\n\n</details>\n"
	}
	return text + restLine + "\n" + s.rest + endLine + "\n"
}

// Bare returns a comment without its marks, for a service that keeps the sections elsewhere.
func Bare(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "<!-- pipeline:") {
			b.WriteString(line)
		}
	}
	return strings.TrimLeft(b.String(), "\n")
}
