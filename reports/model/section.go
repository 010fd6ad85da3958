package model

import "slices"

// SectionOf is a row of a table of sections: how one is built from a T. A new section is a
// function and its row.
type SectionOf[T any] struct {
	ID     string
	On     Medium
	Weight Weight
	Brief  bool
	// Build may leave everything but the title empty: such a section is left out.
	Build func(T) Section
}

// Medium says where a section is shown.
type Medium int

// The media. Text is markdown, too.
const (
	Everywhere Medium = iota
	TextOnly
	PageOnly
)

// Sections builds those of a table that a page, or a text, has, without tables that have no rows.
func Sections[T any](table []SectionOf[T], of T, page bool) []Section {
	var out []Section
	for _, row := range table {
		if page && row.On == TextOnly || !page && row.On == PageOnly {
			continue
		}
		s := row.Build(of)
		s.ID, s.Weight, s.Brief = row.ID, row.Weight, row.Brief
		s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return len(t.Rows) == 0 })
		if len(s.Notes)+len(s.Tables)+len(s.Logs)+len(s.Charts)+len(s.Parts) > 0 {
			out = append(out, s)
		}
	}
	return out
}
