package history

import (
	"context"
	"os"

	"github.com/servegate/pipeline/steps"
)

// Checkout is what git says of the code in a folder. What it does not know stays empty.
func Checkout(ctx context.Context, sp steps.Spawner, dir string) Source {
	scratch, err := os.MkdirTemp("", "pipeline-checkout-")
	if err != nil {
		return Source{}
	}
	defer func() { _ = os.RemoveAll(scratch) }() // empty but for what git left
	g := &gitStore{spawner: sp, dir: dir, scratch: scratch}
	ask := func(args ...string) string {
		answer, err := g.line(ctx, args...)
		if err != nil {
			return ""
		}
		return answer
	}
	return Source{Commit: ask("rev-parse", "HEAD"), Branch: ask("symbolic-ref", "--quiet", "--short", "HEAD")}
}
