package github

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
	"github.com/servegate/pipeline/reports/series"
)

// Answer writes a comment on the commit that caused a regression. It chooses the issue of the worst
// series without such a comment for its state, and handles one only, because a search takes hours.
// It calls find with the key of that series; find returns markdown.
func (k *Tracker) Answer(ctx context.Context, h *series.History, find func(key string) (string, error)) Tracked {
	k.out = Tracked{}
	asking := remote.WithBudget(ctx, issuesBudget)
	if err := k.list(asking); err != nil {
		k.warn("no commit was searched for", err)
		return k.out
	}
	for _, t := range k.sorted(h) {
		is := k.on(t.Key)
		stand, _ := wanted(t)
		if _, _, known := t.Ends(); stand != worse || !known || is == nil || !is.Open {
			continue
		}
		state := note.Digest("culprit", stateOf(is.series))
		if found, err := k.commented(asking, is.Number, state); found {
			continue
		} else if err != nil {
			k.warn("no commit was searched for", err)
			return k.out
		}
		if !k.DryRun {
			text, err := find(t.Key)
			if err == nil {
				err = k.comment(remote.WithBudget(ctx, issuesBudget), is.Number, state, k.culprit(state, t, text))
			}
			if err != nil {
				k.warn(fmt.Sprintf("issue %d did not get the commit that it was", is.Number), err)
				return k.out
			}
		}
		k.done("searched", is.Issue)
		return k.out
	}
	return k.out
}

// culprit returns the comment with an answer.
func (k *Tracker) culprit(state string, t *series.Trend, answer string) string {
	text := stateMarker(state) + "\n**Which commit it was:** " + k.Mask.of(series.News(t)) + "\n\n" + k.Mask.of(answer)
	if k.RunURL != "" {
		text += "\n<sub>[Run](" + k.RunURL + ")</sub>\n"
	}
	return text
}
