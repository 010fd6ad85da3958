// Package term prepares text of unknown origin for a terminal: it makes control
// characters visible and harmless, and measures, cuts and wraps by columns.
//
// Everything that a pull request can influence (model names, log lines, HCL source)
// passes through Escape before it is printed:
//
//	line := term.Cut(term.Escape(event.Text), width)
//
// The package moves no cursor, knows no colours and asks no terminal for its size.
package term
