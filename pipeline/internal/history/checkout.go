package history

import (
	"context"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/steps"
)

// Checkout returns the state of the code in a folder from git. Unknown fields stay empty.
func Checkout(ctx context.Context, sp steps.Spawner, dir string) Source {
	r := git.Repo{Spawner: sp, Dir: dir}
	// Without optional locks git writes nothing into the repository.
	out, err := r.Run(ctx, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=no")
	if err != nil {
		return Source{}
	}
	var at Source
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if commit, ok := strings.CutPrefix(line, "# branch.oid "); ok && commit != "(initial)" {
			at.Commit = commit
		} else if branch, ok := strings.CutPrefix(line, "# branch.head "); ok && branch != "(detached)" {
			at.Branch = branch
		} else if !strings.HasPrefix(line, "#") {
			at.Dirty = true
		}
	}
	return at
}
