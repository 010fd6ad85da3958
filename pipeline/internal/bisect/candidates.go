package bisect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/culprit"
	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/reports/bisection"
)

// Candidate is one element of the ordered list to search.
type Candidate struct {
	Ref     string `json:"ref"` // commit hash, or list entry
	Subject string `json:"subject,omitempty"`
	// Reverts is the commit that the message claims to revert. ChangesFile means that the commit changes the
	// pipeline file.
	Reverts     string `json:"reverts,omitempty"`
	ChangesFile bool   `json:"changes_file,omitempty"`
}

// Short returns the abbreviated reference.
func (c Candidate) Short() string { return bisection.Short(c.Ref) }

var reverts = lazyregexp.New(`\bThis reverts commit ([0-9a-f]{7,64})\b`)

// Entries returns the candidates of a list from good to bad; they default to its ends.
func Entries(list []string, good, bad string) ([]Candidate, error) {
	at := func(name string, unless int) (int, error) {
		if name == "" {
			return unless, nil
		}
		if i := slices.Index(list, name); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("%q is not one of the %d candidates of the file", name, len(list))
	}
	from, err := at(good, 0)
	to, err2 := at(bad, len(list)-1)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	switch {
	case from == to:
		return nil, fmt.Errorf("both ends are %s: there is nothing between them", list[from])
	case from > to:
		return nil, fmt.Errorf("the ends are swapped: %s comes after %s in the list, whose order is from good to bad", list[from], list[to])
	}
	var out []Candidate
	for _, ref := range list[from : to+1] {
		out = append(out, Candidate{Ref: ref})
	}
	return out, checkNumber(out)
}

func checkNumber(list []Candidate) error {
	if n := len(list) - 1; n > culprit.MaxCandidates {
		return fmt.Errorf("there are %d candidates after the good end, and %d can be searched: name ends that are closer together", n,
			culprit.MaxCandidates)
	}
	return nil
}

// Commits returns the first-parent commits from good to bad, both included. It marks those that change one of
// files.
func Commits(ctx context.Context, repo git.Repo, good, bad string, files []string) ([]Candidate, error) {
	from, err := commit(ctx, repo, good)
	if err != nil {
		return nil, err
	}
	to, err := commit(ctx, repo, bad)
	if err != nil {
		return nil, err
	}
	if err := related(ctx, repo, [2]string{good, bad}, from, to); err != nil {
		return nil, err
	}
	const format = "--format=%H%x1f%s%x1f%b%x1e"
	between, err := repo.Run(ctx, "log", "--first-parent", "--reverse", format, from+".."+to, "--")
	if err != nil {
		return nil, err
	}
	first, err := repo.Run(ctx, "log", "-1", format, from, "--")
	if err != nil {
		return nil, err
	}
	list := parseLog(string(first) + string(between))
	if parent, err := repo.Line(ctx, "rev-parse", "--verify", "--quiet", list[1].Ref+"^"); err != nil || parent != from {
		return nil, errors.Join(
			fmt.Errorf("%s is not on the first-parent line of %s, but came in by a merge: name %s as the good end, the last commit before it",
				good, bad, short(parent)), err)
	}
	if err := checkNumber(list); err != nil {
		return nil, err
	}
	noteChanges(ctx, repo, list, from+".."+to, files)
	return list, nil
}

// commit returns the hash of the commit that a reference names.
func commit(ctx context.Context, repo git.Repo, ref string) (string, error) {
	shallow, err := repo.Line(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return "", fmt.Errorf("candidates are commits, and %s is in no repository that git can read: %w", repo.Dir, err)
	}
	hash, err := repo.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	switch {
	case err == nil:
		return hash, nil
	case ctx.Err() != nil:
		return "", err
	case shallow == "true":
		return "", fmt.Errorf("commit %q not found in %s, a shallow clone: fetch the rest (git fetch --unshallow; fetch-depth: 0 on GitHub)",
			ref, repo.Dir)
	}
	return "", fmt.Errorf("commit %q not found in %s", ref, repo.Dir)
}

// related returns an error unless bad descends from good.
func related(ctx context.Context, repo git.Repo, names [2]string, from, to string) error {
	if from == to {
		return fmt.Errorf("%s and %s are the same commit: there is nothing between them", names[0], names[1])
	}
	base, err := repo.Line(ctx, "merge-base", from, to)
	switch {
	case err != nil:
		return fmt.Errorf("%s and %s have no common history, so no commit is between them", names[0], names[1])
	case base == to:
		return fmt.Errorf("the ends are swapped: %s comes before %s in the history", names[1], names[0])
	case base != from:
		return fmt.Errorf("%s is not an ancestor of %s: name the commit where they part as the good end, %s", names[0], names[1], short(base))
	}
	return nil
}

func short(hash string) string { return hash[:min(10, len(hash))] }

func parseLog(text string) []Candidate {
	var out []Candidate
	for entry := range strings.SplitSeq(text, "\x1e") {
		fields := strings.SplitN(strings.TrimLeft(entry, "\n"), "\x1f", 3)
		if len(fields) < 3 {
			continue
		}
		c := Candidate{Ref: fields[0], Subject: fields[1]}
		if m := reverts.FindStringSubmatch(fields[2]); m != nil {
			c.Reverts = m[1]
		}
		out = append(out, c)
	}
	return out
}

// noteChanges marks the commits that change the pipeline's files. Files outside the repository mark none.
func noteChanges(ctx context.Context, repo git.Repo, list []Candidate, between string, files []string) {
	if len(files) == 0 {
		return
	}
	changed, err := repo.Run(ctx, append([]string{"log", "--first-parent", "-m", "--format=%H", between, "--"}, files...)...)
	if err != nil {
		return
	}
	for hash := range strings.FieldsSeq(string(changed)) {
		if i := slices.IndexFunc(list, func(c Candidate) bool { return c.Ref == hash }); i >= 0 {
			list[i].ChangesFile = true
		}
	}
}

// Dirty reports whether the work tree has uncommitted changes.
func Dirty(ctx context.Context, repo git.Repo) bool {
	out, err := repo.Line(ctx, "status", "--porcelain", "--untracked-files=no")
	return err == nil && out != ""
}
