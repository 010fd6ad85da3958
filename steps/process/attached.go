package process

import (
	"context"

	"github.com/servegate/pipeline/steps"
)

// Attached is a server that already answers at an address. It is neither started nor
// stopped by us.
type Attached struct {
	url  string
	done chan struct{}
}

var _ steps.Server = (*Attached)(nil)

// NewAttached returns the server at a base address.
func NewAttached(url string) *Attached {
	return &Attached{url: url, done: make(chan struct{})}
}

// BaseURL is the address.
func (a *Attached) BaseURL() string { return a.url }

// Done is never closed: whether such a server ends is seen only by its answers.
func (a *Attached) Done() <-chan struct{} { return a.done }

// ExitState is "running": nothing is known about the process.
func (a *Attached) ExitState() string { return "running" }

// Capabilities are none: the server is somebody else's.
func (a *Attached) Capabilities() steps.ServerCapabilities { return steps.ServerCapabilities{} }

// Stop does nothing.
func (a *Attached) Stop(context.Context) error { return nil }
