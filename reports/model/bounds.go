package model

// Limits of untrusted text in one place of a report, in runes.
const (
	MaxCell  = 160  // a table cell
	MaxLine  = 600  // a span of a line of prose
	MaxLog   = 400  // a line of a log
	MaxNotes = 2000 // lines of notes in one section
)
