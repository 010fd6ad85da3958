package session

import (
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
)

// Options configure a session.
type Options struct {
	Plan *plan.Plan
	// Out is the run directory; "" creates a new one below .pipeline/runs in the working directory.
	Out string
	// Source describes the measured code, nil if unknown.
	Source *result.Source
	// History provides stored baselines; nil means an empty history.
	History *history.History
	// Resume resumes the run in Out.
	Resume    bool
	KeepGoing bool

	Engines map[string]steps.Engine
	// Connectors of KV caches; nil means all.
	Connectors kv.Table
	Actions    map[string]steps.Action
	// Tools lists the load generators whose results drivers may leave; nil means all.
	Tools convert.Tools
	// Formats lists the formats of reports.
	Formats reports.Formats
	// Places lists the kinds of places for processes, in the order in which they are asked.
	Places []place.Kind
	// Self is the path of this program, which also plays simulated servers.
	Self string
	// Allow lists the rights over the machine that containers may get.
	Allow   docker.Allow
	Environ []string
	// Views receive every event, with secrets masked.
	Views   []event.Handler
	Version string // of this program
	Now     func() time.Time
	Random  io.Reader // for the run ID
	// Front returns an address to send the load of a planned repeat to, in place of the server's, and a
	// function that ends it; nil means the server's.
	Front func(repeat int, baseURL string) (url string, stop func() error, err error)
	// InterruptCode returns the exit code for a cause that ended the session, 0 if it is not an interruption.
	InterruptCode func(cause error) int
	// Summary is the runner's step summary file, "" for none.
	Summary string
	// Publisher publishes the run; nil publishes nothing.
	Publisher publish.Run
	// Redactor masks the pipeline's secrets and this machine's; nil masks only the pipeline's.
	Redactor *event.Redactor
}

// Result is the result of a session.
type Result struct {
	Document *result.Document
	// Dir is the run directory.
	Dir string
}
