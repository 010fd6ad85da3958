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
	var word wordFlags
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
			return a.sayOn(ctx, f, word, history.Pin, named(args[0]), func(_ history.Record, w *history.Word) error {
				w.Expires = until
				return nil
			})
		}),
	}
	f.register(cmd)
	word.register(cmd)
	cmd.Flags().StringVar(&expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which the pin is off")
	return cmd
}

func (a *app) baselineUnpin() *cobra.Command {
	var f historyFlag
	var word wordFlags
	cmd := &cobra.Command{
		Use: "unpin ID", Short: "Let the sessions after a pinned one count again", Args: cobra.ExactArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error {
			return a.sayOn(ctx, f, word, history.Unpin, named(args[0]), nil)
		}),
	}
	f.register(cmd)
	word.register(cmd)
	return cmd
}

// named is the session of the history with an ID.
func named(id string) func(*history.History) (history.Record, error) {
	return func(h *history.History) (history.Record, error) { return h.Find(id) }
}

// sayOn adds a word on a session of the history, which find picks. more, if not nil,
// completes the word.
func (a *app) sayOn(ctx context.Context, f historyFlag, word wordFlags, kind history.Kind,
	find func(*history.History) (history.Record, error), more func(history.Record, *history.Word) error,
) error {
	return a.withHistory(ctx, f, func(s history.Store, sp *spawn.Spawner) error {
		if err := a.provenance(ctx, sp).pullRequestOnly(); err != nil {
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
		w, err := word.word(a, r.ID)
		if err != nil {
			return exit(exitUsage, err)
		}
		w.Measured = r.Time
		if more != nil {
			if err := more(r, &w); err != nil {
				return exit(exitUsage, err)
			}
		}
		return a.say(ctx, s, kind, w)
	})
}
