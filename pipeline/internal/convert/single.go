package convert

import (
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// Single returns one imported result as a run of the document, without a repeat or a launch.
// Figures with other definitions than the registry's keep their names.
func Single(r *Run) (result.Run, error) {
	u := unit{runs: []*Run{r}, points: seriesPoints(1)}
	out, err := u.run(r)
	if err != nil {
		return result.Run{}, err
	}
	if len(r.notes) > 0 {
		out.Audit["import_warnings"] = strings.Join(r.Warnings(), "; ")
	}
	return out, nil
}
