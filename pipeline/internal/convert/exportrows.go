package convert

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/gates/metric"
)

// inRegistryOrder sorts ids as the registry does, those that it does not have after them
// by name.
func inRegistryOrder(ids map[string]bool) []string {
	var out, rest []string
	for _, m := range metric.All() {
		if ids[m.ID] {
			out = append(out, m.ID)
		}
	}
	for id := range ids {
		if _, ok := metric.Lookup(id); !ok || !slices.Contains(out, id) {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	return append(out, rest...)
}

// writeRows writes CSV. Text that a spreadsheet would compute gets an apostrophe before it.
func writeRows(w io.Writer, header []string, rows func(row func([]string)) error) error {
	out := csv.NewWriter(w)
	write := func(cells []string) {
		for i, c := range cells {
			cells[i] = escapeCSV(c)
		}
		_ = out.Write(cells) // errors of a csv.Writer stay until Error is asked
	}
	write(slices.Clone(header))
	if err := rows(write); err != nil {
		return err
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// escapeCSV also replaces control characters, which would reach the terminal of who looks
// at the file.
func escapeCSV(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return '\ufffd'
		}
		return c
	}, s)
	if s != "" && strings.IndexByte("=+-@\t\r'", s[0]) >= 0 && !isNumber(s) {
		return "'" + s
	}
	return s
}
