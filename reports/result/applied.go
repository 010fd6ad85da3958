package result

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Applied is what another tool applied to start a target, as that tool renders it.
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

// AppliedBy returns what was applied for both sides, nil if one of them is not known.
func (d *Document) AppliedBy(s Sides) (base, head *Applied) {
	base, head = d.Target(s.BaseTarget).Applied, d.Target(s.HeadTarget).Applied
	if base == nil || head == nil || s.BaseTarget == s.HeadTarget {
		return nil, nil
	}
	return base, head
}

// AppliedNote says in a sentence whether both sides applied the same.
func (s Sides) AppliedNote(base, head *Applied) string {
	switch {
	case base.Digest == head.Digest:
		return fmt.Sprintf("%s and %s apply the same (%s): this compares a stack with itself.", s.BaseTarget, s.HeadTarget, base.Short())
	case base.Text == head.Text:
		return fmt.Sprintf("%s (%s) and %s (%s) differ beyond the part that is stored.", s.BaseTarget, base.Short(), s.HeadTarget, head.Short())
	}
	return fmt.Sprintf("%s applies %s, %s applies %s.", s.BaseTarget, base.Short(), s.HeadTarget, head.Short())
}
