package result

// The values of Document.Status.
const (
	StatusComplete    = "complete"
	StatusInterrupted = "interrupted"
	StatusFailed      = "failed"
)

// The values of Run.Status.
const (
	RunOK        = "ok"
	RunFailed    = "failed"    // the server's doing: an outcome
	RunVoid      = "void"      // a cause outside the system under test
	RunCancelled = "cancelled" // we stopped it
)

// The values of Decision.Kind.
const (
	KindMetric  = "metric"
	KindSuccess = "success"
	KindAssert  = "assert"
)
