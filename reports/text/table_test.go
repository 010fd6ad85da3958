package text

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/model"
)

// TestWordsAreBrokenOnlyToFit: a column that wraps goes down to its longest word, below it only where the
// table fits then.
func TestWordsAreBrokenOnlyToFit(t *testing.T) {
	table := &model.Table{Columns: []model.Column{{Title: "gate", Wrap: true}, {Title: "figure"}}}
	name, fixed := "gate.capacity Requests", strings.Repeat("0", 40)
	for _, tt := range []struct {
		total int
		want  []int
	}{
		{70, []int{22, 40}}, // fits
		{58, []int{16, 40}}, // between words
		{54, []int{12, 40}}, // within a word, and fits
		{30, []int{13, 40}}, // never fits: words stay whole
	} {
		if got := columnWidths(table, []string{"gate", "figure"}, [][]string{{name, fixed}}, tt.total); !slices.Equal(got, tt.want) {
			t.Errorf("%d columns: %v, want %v", tt.total, got, tt.want)
		}
	}
}

// TestNarrowTerminal: where not all columns fit, those that matter least are left out from the right, and named.
func TestNarrowTerminal(t *testing.T) {
	line := func(s string) model.Line { return model.Plain(s) }
	table := &model.Table{
		Columns: []model.Column{{Title: "cell"}, {Title: "base", Aside: true}, {Title: "change"}, {Title: "margin", Aside: true}},
		Rows:    []model.Row{{Cells: []model.Line{line(strings.Repeat("c", 40)), line("1.71 ms"), line("+10.0 %"), line("5 %")}}},
	}
	for width, want := range map[int]string{
		80: "cell                                      base     change   margin\n" + strings.Repeat("c", 40) + "  1.71 ms  +10.0 %  5 %\n",
		60: "cell                                      base     change\n" + strings.Repeat("c", 40) +
			"  1.71 ms  +10.0 %\n+1 column where there is room: margin\n",
	} {
		var p printer
		p.o.Width = width
		p.table(table)
		if got := p.b.String(); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	if len(table.Columns) != 4 {
		t.Error("the table itself has lost a column")
	}
}
