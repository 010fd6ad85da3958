package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/svg"
)

// sessionCharts lists the charts over the session. A function reports false if it has nothing to
// draw. A new chart is a function and its entry here.
var sessionCharts = []func(*view) (model.Chart, bool){(*view).startups, (*view).lags}

// overSession returns the section with the charts over the session.
func (v *view) overSession() model.Section {
	s := model.Section{Title: model.Plain("Over the session"), Folded: true}
	for _, chart := range sessionCharts {
		if c, ok := chart(v); ok {
			s.Charts = append(s.Charts, c)
		}
	}
	return s
}

// maxTimeline bounds the points of one line.
const maxTimeline = 500

func repeatAxis() svg.Axis { return svg.Axis{Title: "repeat", Format: wholeTick} }

// wholeTick labels whole numbers only.
func wholeTick(x float64) string {
	if x != float64(int(x)) {
		return ""
	}
	return fmt.Sprint(int(x))
}

// sortPoints sorts points by repeat. The document stores launches and runs in the order of measurement, so repeated
// ones come last.
func sortPoints(points []svg.Point) {
	slices.SortStableFunc(points, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) })
}
