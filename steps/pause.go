package steps

// Freezable is a [Child] that can tell whether somebody else holds up its processes.
type Freezable interface {
	// Frozen returns a function that says which of the processes that belong to the child now
	// is stopped or frozen at the time of its call; "" means none.
	Frozen() (look func() string)
}
