package cli

import (
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/ui"
)

// view chooses how a run's progress is shown: redrawn on a terminal, plain lines
// elsewhere, JSON lines on standard output when asked for.
func (a *app) view(f runFlags) (ui.View, error) {
	if f.json {
		return ui.NewJSON(a.Out), nil
	}
	options := ui.Options{
		Color: a.color(), Width: a.Width, Now: time.Now, GitHubActions: a.Getenv("GITHUB_ACTIONS") == "true",
	}
	mode := f.progress
	if mode == "auto" {
		mode = "plain"
		if a.Width() > 0 && a.Getenv("CI") == "" && a.Getenv("TERM") != "dumb" {
			mode = "tty"
		}
	}
	switch mode {
	case "tty":
		return ui.NewTTY(a.Err, options), nil
	case "plain":
		return ui.NewPlain(a.Log, options), nil
	case "quiet":
		return ui.NewQuiet(), nil
	}
	return nil, fmt.Errorf("--progress %q is none of auto, tty, plain, quiet", f.progress)
}
