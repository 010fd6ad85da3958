package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// InPod runs the part of this program that executes in a Pod.
type InPod struct {
	Self    string // path of this program
	Version string
	// Facts describes the machine.
	Facts func(context.Context) map[string]string
	Out   io.Writer
	// Now and Sleep are the keeper's clock; nil means the machine's.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// Work executes the command in words, which follow [Worker], until ctx ends.
func (w InPod) Work(ctx context.Context, words []string) error {
	switch {
	case len(words) == 3 && words[0] == workerKeep:
		silence, err := time.ParseDuration(words[2])
		if err != nil {
			return err
		}
		return w.keep(ctx, words[1], silence)
	case len(words) == 1 && words[0] == workerLook:
		look := Look{Version: w.Version, Program: w.Self, Facts: w.Facts(ctx)}
		if !released(w.Version) {
			look.Build, _ = buildOf(w.Self) // where it cannot be read there is doubt
		}
		if err := json.NewEncoder(w.Out).Encode(look); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	case len(words) == 1 && words[0] == workerWait:
		<-ctx.Done()
		return nil
	}
	return fmt.Errorf("%q is not known", strings.Join(words, " "))
}

// keep returns when a file has not changed for silence: the run is then dead, and the Job's objects can be
// deleted. It uses only this machine's clock.
func (w InPod) keep(ctx context.Context, file string, silence time.Duration) error {
	now, sleep := time.Now, steps.Sleep
	if w.Now != nil {
		now, sleep = w.Now, w.Sleep
	}
	last, heard := "", now()
	for now().Sub(heard) < silence {
		if text, err := os.ReadFile(file); err == nil && string(text) != last {
			last, heard = string(text), now()
		}
		if sleep(ctx, time.Second) != nil {
			return nil
		}
	}
	_, err := fmt.Fprintf(w.Out, "no heartbeat of the run for %s: deleting its resources\n", silence)
	return err
}
