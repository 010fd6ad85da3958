package spawn

import "strings"

// Orphan is a process that an instance of this program started and left behind.
type Orphan struct {
	PID int
	// StartTime, in clock ticks since boot, distinguishes it from a later process with the same number.
	StartTime uint64
	Argv      []string
	// Owner is the instance that started it, as returned by [Owner].
	Owner string
}

// Command returns the command line, or the title that the process gave itself.
func (o Orphan) Command() string { return strings.TrimRight(strings.Join(o.Argv, " "), " ") }
