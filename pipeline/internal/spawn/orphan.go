package spawn

import "strings"

// Orphan is a process that a program of ours has started and left behind.
type Orphan struct {
	PID int
	// StartTime in clock ticks since boot distinguishes it from a later process with its number.
	StartTime uint64
	Argv      []string
	// Owner is the program that started it, as [Owner] names it.
	Owner string
}

// Command returns the command line, or the title that the process has given itself.
func (o Orphan) Command() string { return strings.TrimRight(strings.Join(o.Argv, " "), " ") }
