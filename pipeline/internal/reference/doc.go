// Package reference writes the reference of the language and the commands as markdown: the pages
// below docs/reference and the text of `pipeline schema`.
//
// Everything comes from the tables that decode files and parse flags, so that the pages always
// match the program:
//
//	pages := reference.BlockPages(lang.Schema(registry, formats, tests, arrivals), containers, examples)
//
// It only renders, and does not know any block, metric or command by name.
package reference
