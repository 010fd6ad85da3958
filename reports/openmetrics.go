package reports

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
)

// OpenMetrics writes the mean of each metric of each cell as a gauge, in the text format of OpenMetrics 1.0: GitLab
// shows it on a merge request beside the values of the target branch (artifacts:reports:metrics). It ignores the
// options.
func OpenMetrics(w io.Writer, doc *result.Document, _ Options) error {
	families := map[string][]string{}
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			for id, v := range c.Summary {
				m, ok := doc.Metric(id)
				if !ok {
					continue
				}
				labels := labelSet("benchmark", b.Addr, "cell", result.Coordinates(c.Values, " "), "target", c.Target, "bound",
					string(boundOf(&c, m.Group)))
				name := "pipeline_" + invalidName.Replace(id)
				if m.Unit == "s" {
					name += "_seconds"
				}
				families[name] = append(families[name], fmt.Sprintf("%s%s %s\n", name, labels, float(v)))
			}
		}
	}
	out := bufio.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		fmt.Fprintf(out, "# TYPE %s gauge\n", name) // Flush returns the errors
		if strings.HasSuffix(name, "_seconds") {
			fmt.Fprintf(out, "# UNIT %s seconds\n", name)
		}
		for _, line := range slices.Sorted(slices.Values(families[name])) {
			fmt.Fprint(out, line)
		}
	}
	fmt.Fprintln(out, "# EOF")
	return out.Flush()
}

// invalidName replaces what a name of OpenMetrics must not contain and an id may.
var invalidName = strings.NewReplacer(".", "_", "-", "_", "/", "_", " ", "_")

// labelSet returns labels with their values escaped, without empty ones.
func labelSet(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := escape.Text(pairs[i+1], 200); value != "" {
			out = append(out, fmt.Sprintf(`%s="%s"`, pairs[i], labelValue.Replace(value)))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

var labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
