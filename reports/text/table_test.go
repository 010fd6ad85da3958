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
