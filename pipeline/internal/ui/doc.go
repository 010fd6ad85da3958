// Package ui shows the events of a run to people and programs. Its rules:
//
//  1. What happened is written once and stays: launches, runs, failures, verdicts. What
//     is happening is at most eight lines at the bottom of a terminal, and is gone when
//     the run ends.
//  2. A frame is one write, no line of it is wider than the terminal, and there are at
//     most ten in a second. The cursor is never hidden: a killed process leaves a usable
//     terminal.
//  3. Without a terminal there are no escape sequences and no redrawing: one line for
//     each change, and one a minute when nothing changes.
//  4. Colour only repeats what words and marks say already, and follows NO_COLOR.
//  5. A failure shows its class, its evidence, the last lines of the log, where the whole
//     log is, and the place in the pipeline file, in that order.
//  6. Nothing in an event is trusted: text loses its control characters before it is
//     written, and on a GitHub runner it cannot become a workflow command.
//  7. Progress goes to standard error, JSON alone to standard output.
//
// A view is a handler of the event bus:
//
//	view := ui.NewPlain(os.Stderr, ui.Options{Now: time.Now})
//	defer view.Close()
//	bus.Attach(view)
//
// The package computes nothing about a run and writes no report.
package ui
