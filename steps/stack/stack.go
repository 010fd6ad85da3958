// Package stack starts and removes servers by commands: whatever another tool applies and takes down.
//
//	l := stack.NewLauncher(spec, stack.Options{Spawner: s, Journal: stack.Journal{Dir: dir}})
//	running, err := l.Start(ctx, p, log) // runs up, and returns once it has written its url
//	err = running.Stop(ctx)              // runs down
//
// A launch is in the journal before up begins and until down has succeeded, so that [Journal.Clean] can run the down of a
// program that was killed.
package stack

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/openai"
)

// Name of the kind.
const Name = "stack"

// IDVar names the environment variable of commands with the ID of the launch: lower-case letters, digits and a dash.
const IDVar = "PIPELINE_STACK"

// server adds the command of the start to what every server of the OpenAI interface has.
type server struct{ steps.Engine }

// New returns the engine.
func New() steps.Engine { return server{openai.New()} }

// Render returns the command that starts the stack.
func (server) Render(spec steps.ServerSpec, _ string, _ steps.Port) (steps.Process, error) {
	if spec.Stack == nil || len(spec.Stack.Up) == 0 || len(spec.Stack.Down) == 0 {
		return steps.Process{}, fmt.Errorf("%s: up and down are not set", spec.Addr)
	}
	p := engine.Process(spec, spec.Stack.Up, spec.Env, "", steps.PortNumber(0))
	p.Container = nil
	return p, nil
}
