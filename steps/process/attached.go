package process

import (
	"context"

	"github.com/servegate/pipeline/steps"
)

// Attached is a server that already answers at an address. The pipeline neither starts nor stops it.
type Attached struct {
	url  string
	done chan struct{}
}

var _ steps.Server = (*Attached)(nil)

// NewAttached returns the server at a base URL.
func NewAttached(url string) *Attached {
	return &Attached{url: url, done: make(chan struct{})}
}

// BaseURL returns the address.
func (a *Attached) BaseURL() string { return a.url }

// Done returns a channel that is never closed: only failing requests show that such a server ended.
func (a *Attached) Done() <-chan struct{} { return a.done }

// ExitState returns "running", because the process is unknown.
func (a *Attached) ExitState() string { return "running" }

// Capabilities implements steps.Server. There are none, because the pipeline does not control the server.
func (a *Attached) Capabilities() steps.ServerCapabilities { return steps.ServerCapabilities{} }

// Stop does nothing.
func (a *Attached) Stop(context.Context) error { return nil }
