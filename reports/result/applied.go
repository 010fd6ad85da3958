package result

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Applied holds what another tool applied to start a target, as rendered by that tool.
type Applied struct {
	// Digest of the whole text, "sha256:…". Equal digests mean that the same was applied.
	Digest string `json:"digest"`
	// Text has "$PIPELINE_STACK" in place of the ID of a launch, and "(secret)" in place of secrets.
	Text string `json:"text,omitempty"`
	// Cut is true if Text is only the beginning.
	Cut bool `json:"cut,omitempty"`
}

// Short is the beginning of the digest, for people.
func (a *Applied) Short() string { return shortHash(a.Digest) }

// maxDiff limits the lines of a difference.
const maxDiff = 200

// Diff returns the lines in which what two sides applied differs, as a unified diff with the base first. It is empty
// if their texts are equal.
func (a *Applied) Diff(head *Applied, baseName, headName string) (lines []string, omitted int) {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(a.Text), B: difflib.SplitLines(head.Text), FromFile: baseName, ToFile: headName, Context: 2,
	})
	if err != nil || text == "" { // a Builder does not fail
		return nil, 0
	}
	lines = strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > maxDiff {
		lines, omitted = lines[:maxDiff], len(lines)-maxDiff
	}
	return lines, omitted
}

// AppliedSides holds what was applied for two compared sides.
type AppliedSides struct {
	Sides
	BaseApplied, HeadApplied *Applied
}

// AppliedSides returns the compared sides for which other tools applied something, each pair of targets once.
func (d *Document) AppliedSides() []AppliedSides {
	var out []AppliedSides
	seen := map[[2]string]bool{}
	for _, s := range d.Sides {
		base, head := d.Target(s.BaseTarget).Applied, d.Target(s.HeadTarget).Applied
		pair := [2]string{s.BaseTarget, s.HeadTarget}
		if base == nil || head == nil || s.BaseTarget == s.HeadTarget || seen[pair] {
			continue
		}
		seen[pair] = true
		out = append(out, AppliedSides{s, base, head})
	}
	return out
}

// Diff returns the lines in which what the sides applied differs; see [Applied.Diff].
func (s AppliedSides) Diff() (lines []string, omitted int) {
	return s.BaseApplied.Diff(s.HeadApplied, s.BaseTarget, s.HeadTarget)
}

// Note says in a sentence whether both sides applied the same.
func (s AppliedSides) Note() string {
	base, head := s.BaseApplied, s.HeadApplied
	switch {
	case base.Digest == head.Digest:
		return fmt.Sprintf("%s and %s apply the same (%s): this compares a stack with itself.", s.BaseTarget, s.HeadTarget, base.Short())
	case base.Text == head.Text:
		return fmt.Sprintf("%s (%s) and %s (%s) differ beyond the part that is stored.", s.BaseTarget, base.Short(), s.HeadTarget, head.Short())
	}
	return fmt.Sprintf("%s applies %s, %s applies %s.", s.BaseTarget, base.Short(), s.HeadTarget, head.Short())
}
