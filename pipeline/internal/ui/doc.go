// Package ui shows the events of a run to people and programs. Its rules:
//
//  1. Completed events are written once and stay: launches, runs, failures, verdicts. The
//     current state takes at most eight lines at the bottom of a terminal, and disappears when
//     the run ends.
//  2. A frame is one write, none of its lines is wider than the terminal, and there are at
//     most ten per second. The cursor is never hidden, so a killed process leaves a usable
//     terminal.
//  3. Without a terminal there are no escape sequences and no redrawing: one line for
//     each change, and one per minute without changes.
//  4. Colour only repeats what words and marks express, and follows NO_COLOR.
//  5. A failure shows its class, its evidence, the last lines of the log, the path of the
//     log, and the place in the pipeline file, in that order.
//  6. Events are untrusted: control characters are removed from text, and on a GitHub
//     runner it cannot become a workflow command.
//  7. Progress goes to standard error, only JSON to standard output.
//
// A view is a handler of the event bus:
//
//	view := ui.NewPlain(os.Stderr, ui.Options{Now: time.Now})
//	defer view.Close()
//	bus.Attach(view)
//
// The package computes nothing about a run and writes no report.
package ui
