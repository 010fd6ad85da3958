package markdown

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
)

// maxFindings is the rows of a table that are kept before anything else of it must go.
const maxFindings = 50

// reductions are the steps that make a report shorter.
func reductions(full string) []func(*model.Report) {
	steps := []func(*model.Report){dropLogs(full)}
	for _, k := range []model.Kind{model.Environment, model.Client, model.Transports, model.Measured, model.Answers, model.Questions,
		model.Objectives, model.Gates, model.Passes, model.Profile} {
		steps = append(steps, dropBody(full, k))
	}
	for n := maxFindings; n > 0; n /= 2 {
		steps = append(steps, limitRows(n))
	}
	for _, k := range []model.Kind{model.Warnings, model.Failures, model.MoreFound, model.Findings} {
		steps = append(steps, dropBody(full, k))
	}
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
				s.Omitted = model.Plain(fmt.Sprintf("%s of logs left out for size: see %s", humanize.Count(lines, "line"), full))
			}
		}
	}
}

// dropBody leaves the title of a section and how much was under it.
func dropBody(full string, kind model.Kind) func(*model.Report) {
	return func(r *model.Report) {
		i := slices.IndexFunc(r.Sections, func(s model.Section) bool { return s.Kind == kind })
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
		s.Omitted = model.Plain(fmt.Sprintf("%s left out for size: see %s", humanize.Count(rows, "row"), full))
		if len(s.Title) == 0 {
			s.Title = model.Plain(string(kind))
		}
	}
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
				t := &s.Tables[j]
				if len(t.Rows) > n {
					t.Omitted += len(t.Rows) - n
					t.Rows = t.Rows[:n]
				}
			}
		}
	}
}
