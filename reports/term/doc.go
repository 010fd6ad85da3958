// Package term prepares untrusted text for a terminal: it makes control characters visible and
// harmless, and measures, cuts and wraps by columns.
//
// Everything that a pull request can influence (model names, log lines, HCL source) passes through
// Escape before it is printed:
//
//	line := term.Cut(term.Escape(event.Text), width)
//
// The package does not move the cursor, use colours or query the terminal's size.
package term
