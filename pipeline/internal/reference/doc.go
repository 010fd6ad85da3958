// Package reference writes the reference of the language and the commands as markdown: the
// pages below docs/reference and what `pipeline schema` prints for people.
//
// Everything comes from the tables that decode files and parse flags, so that the pages
// cannot say anything else than the program does:
//
//	err := reference.Blocks(w, lang.Schema(registry, formats, tests, arrivals))
//
// It renders; it does not know any block, metric or command by name.
package reference
