package cli

import (
	"context"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/spf13/cobra"
)

func (a *app) baselinePin() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	var expires string
	cmd := &cobra.Command{
		Use: "pin ID", Short: "Keep stored baselines at a session: later ones do not count", Args: cobra.ExactArgs(1),
		Long: "Adds a record that says so, with reason and author, for example before a release: what slows down little by little is then\n" +
			"judged against one fixed point. The newest pin holds, until it expires or `unpin`. Sessions go on being kept and shown.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			until, err := expiry(expires, time.Now())
			if err != nil {
				return exit(exitUsage, err)
			}
			return a.annotateSession(ctx, f, by, history.Pin, named(args[0]), func(_ history.Record, w *history.Annotation) error {
				w.Expires = until
				return nil
			})
		}),
	}
	f.register(cmd)
	by.register(cmd)
	cmd.Flags().StringVar(&expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which the pin is off")
	return cmd
}

func (a *app) baselineUnpin() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	cmd := &cobra.Command{
		Use: "unpin ID", Short: "Let the sessions after a pinned one count again", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.annotateSession(ctx, f, by, history.Unpin, named(args[0]), nil)
		}),
	}
	f.register(cmd)
	by.register(cmd)
	return cmd
}

// named is the session of the history with an ID.
func named(id string) func(*history.History) (history.Record, error) {
	return func(h *history.History) (history.Record, error) { return h.Find(id) }
}

// annotateSession annotates a session of the history, which find picks. complete, if not nil,
// adds to the annotation.
func (a *app) annotateSession(ctx context.Context, f historyFlag, by annotationFlags, kind history.Kind,
	find func(*history.History) (history.Record, error), complete func(history.Record, *history.Annotation) error,
) error {
	return a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
		if err := a.provenance(ctx, sp).checkMerged(); err != nil {
			return exit(exitUsage, err)
		}
		h, err := a.loadHistory(ctx, s)
		if err != nil {
			return err
		}
		r, err := find(h)
		if err != nil {
			return exit(exitUsage, err)
		}
		w, err := by.annotation(a, r.ID)
		if err != nil {
			return exit(exitUsage, err)
		}
		w.Measured = r.Time
		if complete != nil {
			if err := complete(r, &w); err != nil {
				return exit(exitUsage, err)
			}
		}
		return a.annotate(ctx, s, kind, w)
	})
}
