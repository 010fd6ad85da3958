package model

import "slices"

// SectionOf is a row of a table of sections and builds a section from a T. To add a section, write a function and add
// its row.
type SectionOf[T any] struct {
	ID     string
	On     Medium
	Weight Weight
	Brief  bool
	// Build returns the section. A section with only a title is left out.
	Build func(T) Section
}

// Medium defines where a section is shown.
type Medium int

// The media. Text includes markdown.
const (
	Everywhere Medium = iota
	TextOnly
	PageOnly
)

// Sections builds the sections of a table for a page or for text. It drops tables without rows and empty sections.
func Sections[T any](table []SectionOf[T], of T, page bool) []Section {
	var out []Section
	for _, row := range table {
		if page && row.On == TextOnly || !page && row.On == PageOnly {
			continue
		}
		s := row.Build(of)
		s.ID, s.Weight, s.Brief = row.ID, row.Weight, row.Brief
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return len(t.Rows) == 0 })
		if len(s.Notes)+len(s.Tables)+len(s.Logs)+len(s.Charts)+len(s.Parts) > 0 || s.Forest != nil {
			out = append(out, s)
		}
	}
	return out
}
