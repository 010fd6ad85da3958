package markdown

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// maxFindings is the rows of a table that are kept before anything else of it must go.
const maxFindings = 50

// reductions returns the steps that make r shorter. Of the sections of one weight the last one goes first.
func reductions(r *model.Report, full string) []func(*model.Report) {
	steps := []func(*model.Report){dropLogs(full)}
	drop := func(w model.Weight) {
		for i, s := range slices.Backward(r.Sections) {
			if s.Weight == w {
				steps = append(steps, func(r *model.Report) { dropBody(&r.Sections[i], full) })
			}
		}
	}
	drop(model.Detail)
	drop(model.Outcome)
	for n := maxFindings; n > 0; n /= 2 {
		steps = append(steps, limitRows(n))
	}
	drop(model.Attention)
	return append(steps, func(r *model.Report) { r.Legend = nil })
}

func dropLogs(full string) func(*model.Report) {
	return func(r *model.Report) {
		for i := range r.Sections {
			s := &r.Sections[i]
			lines := 0
			for _, l := range s.Logs {
				lines += len(l.Lines)
			}
			if lines > 0 {
				s.Logs = nil
				s.Omitted = leftOut(humanize.Count(lines, "line")+" of logs", full)
			}
		}
	}
}

// dropBody leaves the title of a section and how much was under it.
func dropBody(s *model.Section, full string) {
	rows := 0
	for _, t := range s.Tables {
		rows += len(t.Rows) + t.Omitted
	}
	if n := len(s.Notes); n > 0 && rows == 0 {
		rows = n
	}
	if s.Forest != nil && rows == 0 {
		rows = s.Forest.Rows()
	}
	s.Notes, s.Tables, s.Logs, s.Forest = nil, nil, nil, nil
	s.Omitted = leftOut(humanize.Count(rows, "row"), full)
	if len(s.Title) == 0 {
		s.Title = model.Plain(s.ID)
	}
}

func leftOut(what, full string) []model.Line {
	return []model.Line{model.Plain(fmt.Sprintf("%s left out for size: see %s", what, full))}
}

// limitRows keeps the first n rows of each table and the first n notes of each section.
func limitRows(n int) func(*model.Report) {
	return func(r *model.Report) {
		for i := range r.Sections {
			s := &r.Sections[i]
			if len(s.Notes) > n {
				more := len(s.Notes) - n
				s.Notes = append(slices.Clone(s.Notes[:n]), model.Plain(fmt.Sprintf("and %d more", more)))
			}
			for j := range s.Tables {
				s.Tables[j] = s.Tables[j].First(n)
			}
		}
	}
}
