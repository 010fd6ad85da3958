package cli

import (
	"time"

	"github.com/servegate/pipeline/pipeline/internal/ui"
	"github.com/spf13/cobra"
)

// progress makes the view that shows how a run goes.
type progress func(*app) ui.View

// progressOptions are the views; auto takes tty on a terminal and plain elsewhere.
var progressOptions = []option[progress]{
	{name: "auto", value: func(a *app) ui.View {
		if a.Width() > 0 && a.Getenv("CI") == "" && a.Getenv("TERM") != "dumb" {
			return ui.NewTTY(a.Err, a.viewOptions())
		}
		return ui.NewPlain(a.Log, a.viewOptions())
	}},
	{"tty", func(a *app) ui.View { return ui.NewTTY(a.Err, a.viewOptions()) }, "redrawn on a terminal"},
	{"plain", func(a *app) ui.View { return ui.NewPlain(a.Log, a.viewOptions()) }, "line by line"},
	{name: "quiet", value: func(*app) ui.View { return ui.NewQuiet() }},
}

func progressFlag(cmd *cobra.Command, p *progress) {
	enumFlag(cmd, p, "progress", "auto", progressOptions, "how progress is shown")
}

func (a *app) viewOptions() ui.Options {
	return ui.Options{
		Color: a.color(), Width: a.Width, Now: time.Now, GitHubActions: a.Getenv("GITHUB_ACTIONS") == "true",
	}
}
