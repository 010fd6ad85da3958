package github

import (
	"fmt"
	"strconv"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/series"

	"github.com/servegate/pipeline/gates/trend"
)

// issueMarker is one of the first lines of our issues. It holds a series, the described state, and
// the reference when the issue was opened.
type issueMarker struct {
	key   string
	state string
	// machine is the one of the regression, reference the level before it.
	machine   string
	reference float64
}

var (
	issueLine = lazyregexp.New(
		`^<!-- pipeline:issue v1 key=([0-9a-f]{16}) state=([0-9a-f]{16}) on=([0-9a-f]{16}) ref=([0-9.e+-]{1,30}) -->(?:\r?\n|$)`)
	commentLine = lazyregexp.New(`^<!-- pipeline:issue-state v1 state=([0-9a-f]{16}) -->(?:\r?\n|$)`)
	seriesKey   = lazyregexp.New(`^[0-9a-f]{16}$`)
)

func (m issueMarker) String() string {
	return fmt.Sprintf("<!-- pipeline:issue v1 key=%s state=%s on=%s ref=%s -->", m.key, m.state, m.machine,
		strconv.FormatFloat(m.reference, 'g', -1, 64))
}

// parseIssueMarkers reads the markers that a body starts with, one line for each series.
func parseIssueMarkers(body string) []issueMarker {
	var out []issueMarker
	for {
		parts := issueLine.FindStringSubmatch(body)
		if parts == nil {
			return out
		}
		ref, err := strconv.ParseFloat(parts[4], 64)
		if err == nil {
			out = append(out, issueMarker{key: parts[1], state: parts[2], machine: parts[3], reference: ref})
		}
		body = body[len(parts[0]):]
	}
}

// stateOf returns the state of an issue, derived from its series.
func stateOf(series []issueMarker) string {
	if len(series) == 1 {
		return series[0].state
	}
	parts := []any{"several"}
	for _, m := range series {
		parts = append(parts, m.key, m.state)
	}
	return note.Digest(parts...)
}

// stateMarker returns the first line of a comment on a state.
func stateMarker(state string) string { return "<!-- pipeline:issue-state v1 state=" + state + " -->" }

// standing tells what an issue should report on a series.
type standing int

const (
	unknown standing = iota // no conclusion now: the issue stays as it is
	worse
	fine
)

// wanted returns the standing of a series and its marker. The state in the marker changes when
// there is news: a regression that begins or ends, or an acceptance. It does not change every
// night, nor with the place of a change point, which later nights may still move.
func wanted(t *series.Trend) (standing, issueMarker) {
	m := issueMarker{key: t.Key}
	bad := t.Regressed()
	if len(bad) > 0 {
		parts := []any{"regressed"}
		for _, p := range bad {
			parts = append(parts, p.Machine, p.Regressions, acceptanceID(p))
		}
		m.state, m.machine, m.reference = note.Digest(parts...), note.Digest(bad[0].Machine), bad[0].Reference
		return worse, m
	}
	parts, retired := []any{"fine"}, false
	for i := range t.Parts {
		p := &t.Parts[i]
		retired = retired || p.Condition == trend.Regressed
		parts = append(parts, p.Machine, p.Regressions, acceptanceID(p))
	}
	m.state = note.Digest(parts...)
	if retired || t.Condition() != trend.Steady {
		return unknown, m
	}
	return fine, m
}

func acceptanceID(p *series.Part) string {
	if p.Accepted != nil {
		return p.Accepted.ID
	}
	return ""
}
