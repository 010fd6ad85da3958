package reports

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
)

// maxFindings is the rows of a table that are kept before anything else of it must go.
const maxFindings = 50

// fit draws r within the budget. What is left out goes in this order, each only if the
// text is still too long: the ends of logs, the environment, the measured values and the
// load generator's notes, the passes, the rows of every table beyond 50, then ever more
// rows, and in the end everything but heading, lead and what was left out.
func fit(r *Report, o Options) (string, error) {
	text := markdown(r)
	if o.Budget <= 0 {
		return text, nil
	}
	for _, drop := range reductions(o.full()) {
		if len(text) <= o.Budget {
			return text, nil
		}
		drop(r)
		text = markdown(r)
	}
	if len(text) > o.Budget {
		return "", fmt.Errorf("%d bytes are needed for heading and lead, the budget is %d: raise it", len(text), o.Budget)
	}
	return text, nil
}

// reductions are the steps that make a report shorter.
func reductions(full string) []func(*Report) {
	steps := []func(*Report){dropLogs(full)}
	for _, k := range []Kind{Environment, Client, Transports, Measured, Gates, Passes} {
		steps = append(steps, dropBody(full, k))
	}
	for n := maxFindings; n > 0; n /= 2 {
		steps = append(steps, limitRows(n))
	}
	for _, k := range []Kind{Warnings, Failures, MoreFound, Findings} {
		steps = append(steps, dropBody(full, k))
	}
	return append(steps, func(r *Report) { r.Legend = nil })
}

func dropLogs(full string) func(*Report) {
	return func(r *Report) {
		for i := range r.Sections {
			s := &r.Sections[i]
			lines := 0
			for _, l := range s.Logs {
				lines += len(l.Lines)
			}
			if lines > 0 {
				s.Logs = nil
				s.Omitted = plain(fmt.Sprintf("%s of logs left out for size: see %s", humanize.Count(lines, "line"), full))
			}
		}
	}
}

// dropBody leaves the title of a section and how much was under it.
func dropBody(full string, kind Kind) func(*Report) {
	return func(r *Report) {
		i := slices.IndexFunc(r.Sections, func(s Section) bool { return s.Kind == kind })
		if i < 0 {
			return
		}
		s := &r.Sections[i]
		rows := 0
		for _, t := range s.Tables {
			rows += len(t.Rows) + t.Omitted
		}
		if n := len(s.Notes); n > 0 && rows == 0 {
			rows = n
		}
		s.Notes, s.Tables, s.Logs = nil, nil, nil
		s.Omitted = plain(fmt.Sprintf("%s left out for size: see %s", humanize.Count(rows, "row"), full))
		if len(s.Title) == 0 {
			s.Title = plain(string(kind))
		}
	}
}

// limitRows keeps the first n rows of each table and the first n notes of each section.
func limitRows(n int) func(*Report) {
	return func(r *Report) {
		for i := range r.Sections {
			s := &r.Sections[i]
			if len(s.Notes) > n {
				more := len(s.Notes) - n
				s.Notes = append(slices.Clone(s.Notes[:n]), plain(fmt.Sprintf("and %d more", more)))
			}
			for j := range s.Tables {
				t := &s.Tables[j]
				if len(t.Rows) > n {
					t.Omitted += len(t.Rows) - n
					t.Rows = t.Rows[:n]
				}
			}
		}
	}
}
