package spawn

// Ownership states whether this program started a process.
type Ownership int

// The states. Unknown applies to processes of another PID namespace, and to every process without /proc.
const (
	Unknown Ownership = iota
	Ours
	Others
)
