package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

// Text writes the checks as a table, each followed by its fix, and a summary.
func Text(w io.Writer, checks []Check) error {
	wide := 0
	counts := map[Status]int{}
	for _, c := range checks {
		wide = max(wide, term.Width(term.Escape(c.Name)))
		counts[c.Status]++
	}
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-7s  %s  %s\n", c.Status, term.Pad(term.Escape(c.Name), wide), term.Escape(c.Found))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%-7s  %-*s  -> %s\n", "", wide, "", term.Escape(c.Fix))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %s, %d missing\n", counts[OK], humanize.Count(counts[Warn], "warning"), counts[Missing])
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes the checks as one object.
func JSON(w io.Writer, checks []Check) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema string  `json:"schema"`
		Checks []Check `json:"checks"`
	}{"pipeline/doctor/1.0", checks})
}
