package history

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/steps"
)

// Checkout is what git says of the code in a folder. What it does not know stays empty.
func Checkout(ctx context.Context, sp steps.Spawner, dir string) Source {
	r := git.Repo{Spawner: sp, Dir: dir}
	ask := func(args ...string) string {
		answer, err := r.Line(ctx, args...)
		if err != nil {
			return ""
		}
		return answer
	}
	return Source{Commit: ask("rev-parse", "HEAD"), Branch: ask("symbolic-ref", "--quiet", "--short", "HEAD")}
}
