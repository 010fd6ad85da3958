package spawn

// Ownership reports whether a process was started by this program.
type Ownership int

// What can be known of it. A process of another PID namespace, and on systems without
// /proc every process, is Unknown.
const (
	Unknown Ownership = iota
	Ours
	Others
)
