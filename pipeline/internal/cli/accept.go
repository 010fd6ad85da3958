package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/verdict"
	"github.com/spf13/cobra"
)

func (a *app) acceptCommand() *cobra.Command {
	var f historyFlag
	var by annotationFlags
	var cell, metricName, expires string
	cmd := &cobra.Command{
		Use: "accept RUN|ID", Short: "Accept a change, so that the stored baseline begins anew with a run", Args: cobra.ExactArgs(1),
		Long: "Adds a record to the history: the change that this run shows is accepted, why, and by whom.\n" +
			"Sessions from before the run no longer count for stored baselines, and `history` marks the change as accepted.",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			if metricName != "" {
				if _, err := metricID(metricName); err != nil {
					return exit(exitUsage, err)
				}
			}
			measured := func(h *history.History) (history.Record, error) { return measuredRun(h, args[0]) }
			return a.annotateSession(ctx, f, by, history.Acceptance, measured, func(r history.Record, w *history.Annotation) (err error) {
				w.Metric = metricName
				if w.Cell, err = cellNamed(r, cell); err != nil {
					return err
				}
				w.Expires, err = expiry(expires, time.Now())
				return err
			})
		}),
	}
	f.register(cmd)
	by.register(cmd)
	cmd.Flags().StringVar(&cell, "cell", "", "`label` or hash of the one cell that is meant (all unless set)")
	cmd.Flags().StringVar(&metricName, "metric", "", "the one `metric` that is meant, such as ttft.p99 (all unless set)")
	cmd.Flags().StringVar(&expires, "expires", "", "`date` (2026-12-31) or time from now (720h) after which the old baseline counts again")
	return cmd
}

// measuredRun is a session of the history, or a run directory.
func measuredRun(h *history.History, arg string) (history.Record, error) {
	if _, err := os.Stat(arg); err == nil {
		doc, err := verdict.ReadDocument(arg)
		if err != nil {
			return history.Record{}, err
		}
		return history.FromDocument(doc, history.Source{})
	}
	return h.Find(arg)
}

// cellNamed is the hash of a run's cell by its label or hash; "" for no name.
func cellNamed(r history.Record, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	hash := ""
	for _, c := range r.Cells {
		if c.Hash != name && c.Label != name && c.Benchmark+" "+c.Label != name {
			continue
		}
		if hash != "" {
			return "", fmt.Errorf("several benchmarks of the run have a cell %q; write the benchmark before it", name)
		}
		hash = c.Hash
	}
	if hash == "" {
		return "", fmt.Errorf("the run has no cell %q; `pipeline baseline show` lists them", name)
	}
	return hash, nil
}

// expiry reads a date or a time from now.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		d, bad := time.ParseDuration(text)
		if bad != nil {
			return at, fmt.Errorf("--expires %q is neither a date such as 2026-12-31 nor a time such as 720h", text)
		}
		at = now.Add(d).UTC().Truncate(time.Second)
	}
	if !at.After(now) {
		return at, errors.New("--expires is in the past")
	}
	return at, nil
}
