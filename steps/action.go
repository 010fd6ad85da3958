package steps

import (
	"context"
	"io"
)

// Action carries out one-shot steps of one kind ("exec", "http").
type Action interface {
	// Run carries out the step that obj describes, with every argument known. It returns
	// the outputs that the step declares. The step's own timeout is part of obj; ctx
	// bounds it from outside. When Run returns nothing that it started is left.
	Run(ctx context.Context, env ActionEnv, obj Object) (map[string]string, error)
}

// ActionEnv is what an action is given to work with.
type ActionEnv struct {
	// Spawner starts processes; actions that need none ignore it.
	Spawner Spawner
	// Log takes everything the action writes. It redacts; nil drops it.
	Log io.Writer
	// Dir is the folder that relative folders are meant from: the pipeline file's.
	Dir string
	// Temp is a folder for files that live as long as the action; "" means the system's.
	Temp string
}
