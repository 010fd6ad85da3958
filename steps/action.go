package steps

import (
	"context"
	"io"
)

// Action carries out one-shot steps of one kind ("exec", "http").
type Action interface {
	// Run carries out the step that obj describes, with every argument known. It returns the outputs that the
	// step declares. The step's own timeout is part of obj; ctx bounds it from outside. Run leaves no process
	// behind.
	Run(ctx context.Context, env ActionEnv, obj Object) (map[string]string, error)
}

// ActionEnv holds the means that an action works with.
type ActionEnv struct {
	// Spawner starts processes; actions that need none ignore it.
	Spawner Spawner
	// Log receives all output of the action and redacts it; nil drops the output.
	Log io.Writer
	// Dir is the pipeline file's folder. Relative paths are resolved against it.
	Dir string
	// Temp is a folder for files that live as long as the action; "" selects the system's.
	Temp string
}
