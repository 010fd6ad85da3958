package github

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports/series"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
)

// maxIssueTitle is below the limit of GitHub (256 characters).
const maxIssueTitle = 200

// issueTitle names the series, without figures, so that it need not change.
func issueTitle(t *series.Trend) string { return escape.Text(series.Title(t), maxIssueTitle) }

// groupTitle names the worst of several series.
func groupTitle(all []*series.Trend) string {
	title := issueTitle(all[0])
	if n := len(all) - 1; n > 0 {
		title += fmt.Sprintf(" and %d more", n)
	}
	return title
}

// minDetail is the size in bytes that every series gets.
const minDetail = 4_000

// maxDetailed is the number of series with tables in an issue.
const maxDetailed = 5

// issueBody returns the text of an issue on some series, the worst first. All foreign text in it is
// escaped.
func (k *Tracker) issueBody(markers []issueMarker, h *series.History, all []*series.Trend) (string, error) {
	start, end := "", k.footer()
	for _, m := range markers {
		start += m.String() + "\n"
	}
	var text bytes.Buffer
	if len(all) > 1 {
		fmt.Fprintf(&text, "%d series regressed in one night, the worst first:\n\n", len(all))
		for _, t := range all {
			fmt.Fprintf(&text, "- %s: %s\n", escape.Inline(series.Title(t)[len("Performance regression: "):], 200), series.News(t))
		}
		text.WriteString("\n")
	}
	shown := all[:min(len(all), maxDetailed)]
	o := reports.Options{Budget: max((bodyBudget-len(start)-len(end)-text.Len())/len(shown), minDetail), Full: "the report of the night"}
	for _, t := range shown {
		if err := series.TrendMarkdown(&text, h, t, o); err != nil {
			return "", err
		}
	}
	text.WriteString(bisectOffer(all))
	return start + k.Mask.of(text.String()) + end, nil
}

// bisectOffer returns the command that finds the commit of the worst series with known ends.
func bisectOffer(all []*series.Trend) string {
	for _, t := range all {
		if _, _, ok := t.Ends(); ok && len(t.Regressed()) > 0 {
			return "\n**Which commit it was:** `pipeline bisect FILE --from-history " + t.Key + "`\n"
		}
	}
	return ""
}

// footer explains when the issue changes, and links the evidence.
func (k *Tracker) footer() string {
	text := "\n<sub>This issue is kept up to date by `pipeline history issues`: it gets a comment when there is news, and is closed when " +
		"every series of it " +
		"recovers or when the new level is accepted with `pipeline accept`. Closed by hand it stays closed until the next regression.</sub>\n"
	if k.RunURL != "" {
		text += "\n<sub>[Run](" + k.RunURL + ") · [artifacts](" + k.RunURL + "#artifacts)</sub>\n"
	}
	return text
}

// news returns the comment on a state.
func (k *Tracker) news(state string, news []item) string {
	var b strings.Builder
	b.WriteString(stateMarker(state) + "\n")
	for _, n := range news {
		name := ""
		if len(news) > 1 {
			name = escape.Inline(series.Title(n.t)[len("Performance regression: "):], 200) + ": "
		}
		fmt.Fprintf(&b, "**%s** %s%s\n", n.headline, k.Mask.of(name), k.Mask.of(series.News(n.t)))
		if len(news) > 1 {
			b.WriteByte('\n')
		}
	}
	if k.RunURL != "" {
		b.WriteString("\n<sub>[Run](" + k.RunURL + ")</sub>\n")
	}
	return b.String()
}
