package text_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/text"
)

// drawn draws a table for a terminal.
func drawn(t *testing.T, table model.Table, width int) string {
	t.Helper()
	var b strings.Builder
	r := &model.Report{Sections: []model.Section{{ID: "s", Title: model.Plain("title"), Tables: []model.Table{table}}}}
	if err := text.Write(&b, r, model.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWordsAreBrokenOnlyToFit: a column that wraps goes down to its longest word, below it only where the
// table fits then.
func TestWordsAreBrokenOnlyToFit(t *testing.T) {
	table := model.Table{
		Columns: []model.Column{{Title: "gate", Wrap: true}, {Title: "figure"}},
		Rows:    []model.Row{{Cells: []model.Line{model.Plain("gate.capacity Requests"), model.Plain(strings.Repeat("0", 80))}}},
	}
	for width, want := range map[int]int{
		110: 22, // fits
		98:  16, // between words
		94:  12, // within a word, and fits
		70:  13, // never fits: words stay whole
	} {
		if got := drawn(t, table, width); !strings.Contains(got, "\ngate"+strings.Repeat(" ", want-len("gate"))+"  figure\n") {
			t.Errorf("%d columns, want the first with %d:\n%s", width, want, got)
		}
	}
}

// TestNarrowTerminal: where not all columns fit, those that matter least are left out from the right, and named.
func TestNarrowTerminal(t *testing.T) {
	line := func(s string) model.Line { return model.Plain(s) }
	table := model.Table{
		Columns: []model.Column{{Title: "cell"}, {Title: "base", Aside: true}, {Title: "change"}, {Title: "margin", Aside: true}},
		Rows:    []model.Row{{Cells: []model.Line{line(strings.Repeat("c", 40)), line("1.71 ms"), line("+10.0 %"), line("5 %")}}},
	}
	for width, want := range map[int]string{
		80: "cell                                      base     change   margin\n" + strings.Repeat("c", 40) + "  1.71 ms  +10.0 %  5 %\n",
		60: "cell                                      base     change\n" + strings.Repeat("c", 40) +
			"  1.71 ms  +10.0 %\n+1 column where there is room: margin\n",
	} {
		if got := drawn(t, table, width); !strings.Contains(got, want) {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	if len(table.Columns) != 4 {
		t.Error("the table itself has lost a column")
	}
}
