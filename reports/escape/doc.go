// Package escape makes untrusted text safe to show: names, values, error messages and log lines
// that a pull request, a model or a server can choose.
//
// It has one function for each destination: Inline and Code for GitHub-flavoured markdown
// (paragraphs and table cells alike), CodeElement for the HTML in it, Fence for its code blocks,
// Text for one line of a terminal, Commands for the log of a GitHub runner, CSV for a field of a
// spreadsheet. All of them first reduce the text to one bounded line without control, escape and
// bidirectional characters.
//
//	escape.Inline("a|b <img src=x> @team", 80) // "a&#124;b &#60;img src=x&#62; &#64;⁠team"
//
// It does not hide secrets (a redactor does, before anything reaches a report) and it does not
// produce HTML documents (html/template does).
package escape
