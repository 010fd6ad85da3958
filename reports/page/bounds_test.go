package page_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/page"
)

// TestBounds: what is beyond the bounds of a page is left out and counted, and the report itself
// stays as it is.
func TestBounds(t *testing.T) {
	var table model.Table
	cells := make([]model.Line, 26)
	for i := range cells {
		cells[i] = model.Plain("cell")
		table.Columns = append(table.Columns, model.Column{Title: "column"})
	}
	for range 5 {
		table.Add(cells...)
	}
	note, log := model.Plain("a note"), model.Log{Title: model.Plain("a log"), Lines: []string{"line"}}
	r := &model.Report{Sections: []model.Section{{
		ID: "s", Title: model.Plain("Section"), Notes: []model.Line{note, note, note, note},
		Tables: []model.Table{table}, Logs: []model.Log{log, log},
		Omitted: []model.Line{model.Plain("more elsewhere")},
	}}}
	for _, tt := range []struct {
		bounds        page.Bounds
		rows, omitted string
	}{
		{page.Bounds{Rows: 9, Logs: 9}, "2 more columns left out.", "more elsewhere"},
		{page.Bounds{Rows: 3, Logs: 1}, "2 more rows, 2 more columns left out.", "more elsewhere|and 1 more note|and the ends of 1 more log"},
	} {
		var out strings.Builder
		draw := func(b page.Bounds) *page.Page { return page.New(r, b, "all") }
		if err := page.Write(&out, 0, "less", []page.Bounds{tt.bounds}, draw); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(tt.rows+"|"+tt.omitted, "|") {
			if !strings.Contains(out.String(), `<p class="omitted">`+line+"</p>") {
				t.Errorf("%+v: %q is not said", tt.bounds, line)
			}
		}
		if said := strings.Count(out.String(), `class="omitted"`); said != 1+len(strings.Split(tt.omitted, "|")) {
			t.Errorf("%+v: %d notes on what is left out", tt.bounds, said)
		}
		if rows, want := strings.Count(out.String(), "<tr>"), 1+min(tt.bounds.Rows, 5); rows != want {
			t.Errorf("%+v: %d rows, want %d", tt.bounds, rows, want)
		}
	}
	if s := r.Sections[0]; len(s.Notes) != 4 || len(s.Tables[0].Rows) != 5 || len(s.Omitted) != 1 {
		t.Errorf("the report was changed: %+v", s)
	}
}
