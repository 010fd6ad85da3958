package session

import (
	"io"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/kv"
)

// Options of a session.
type Options struct {
	Config *lang.Config
	Plan   *plan.Plan
	// Dir is the folder of the pipeline file. Relative paths in the file are resolved against it.
	Dir string
	// Out is the run directory; "" makes a new one below .pipeline/runs of the working directory.
	Out string
	// Source is the code that is measured, nil where it is not known.
	Source *result.Source
	// History provides stored baselines; nil means an empty history.
	History *history.History
	// Resume goes on with the run in Out.
	Resume    bool
	KeepGoing bool

	Engines map[string]steps.Engine
	// Connectors of KV caches; nil means all.
	Connectors kv.Table
	Actions    map[string]steps.Action
	// Tools are the load generators whose results drivers leave; nil means all.
	Tools convert.Tools
	// Formats are those that reports are written in.
	Formats reports.Formats
	// Places are the kinds of places that processes run in, in the order in which they are
	// asked.
	Places []place.Kind
	// Self is the path of this program, which plays the simulated servers.
	Self string
	// Allow says which rights over the machine containers may get.
	Allow   docker.Allow
	Environ []string
	// Views receive every event, with secrets masked.
	Views   []event.Handler
	Version string // of this program
	Now     func() time.Time
	Random  io.Reader // for the run's id
	// Front gives the address that the load of a planned repeat is sent to in place of a
	// server's own, and what ends it; nil means the server's own.
	Front func(repeat int, baseURL string) (url string, stop func() error, err error)
	// InterruptCode is the exit code when a cause ended the session, 0 if it is not an
	// interruption.
	InterruptCode func(cause error) int
	// Summary is the file of the runner's step summary, "" for none.
	Summary string
	// Publisher publishes the run; nil publishes nothing.
	Publisher publish.Run
	// Redactor masks the pipeline's secrets, and whatever else is one on this machine; nil
	// masks those of the pipeline.
	Redactor *event.Redactor
}

// Result of a session.
type Result struct {
	Document *result.Document
	// Dir is the run directory.
	Dir string
}
