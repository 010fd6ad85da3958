package spawn

// Orphan is a process that a program of ours has started and left behind.
type Orphan struct {
	PID int
	// StartTime in clock ticks since boot distinguishes it from a later process with its number.
	StartTime uint64
	Argv      []string
	// Owner is the process id of the program that started it and is gone.
	Owner int
}
