package reference

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// Events writes the page on the events that a run prints with --json and keeps in events.jsonl.
func Events(w io.Writer) error {
	p := &page{}
	p.line("# Events", "", generated, "",
		"`pipeline run --json` prints an event a line, and `events.jsonl` of a run directory keeps those that are stored. The version of the stream is "+event.Schema+
			": additions are minor, changes are major, and readers ignore what they do not know. Every event has "+fieldList([]string{"seq", "time", "type"})+", most have "+code("text")+".",
		"", "| type | when | fields | kept |", "|---|---|---|---|")
	for _, t := range event.Types {
		p.row(code(string(t.Type)), t.Doc, fieldList(t.Fields), t.Keep.String())
	}
	p.line("", "Of what is shown nothing is kept; what is synced is on the disk before the run goes on, because a resumed run relies on it.",
		"", "| field | meaning |", "|---|---|")
	for _, name := range slices.Sorted(maps.Keys(event.FieldDocs)) {
		p.row(code(name), event.FieldDocs[name])
	}
	return p.write(w)
}

func fieldList(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = code(name)
	}
	return strings.Join(out, ", ")
}
