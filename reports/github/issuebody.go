package github

import (
	"bytes"
	"fmt"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/escape"
)

// maxIssueTitle is below what GitHub takes (256 characters).
const maxIssueTitle = 200

// issueTitle names the series, and no figures: it stays as it is.
func issueTitle(t *reports.Trend) string { return escape.Text(reports.TrendTitle(t), maxIssueTitle) }

// issueBody is the text of an issue. Everything in it that is not ours has been escaped.
func (k *Tracker) issueBody(m issueMarker, h *reports.History, t *reports.Trend) (string, error) {
	start, end := m.String()+"\n", k.footer()
	var text bytes.Buffer
	o := reports.Options{Budget: bodyBudget - len(start) - len(end), Full: "the report of the night"}
	if err := reports.TrendMarkdown(&text, h, t, o); err != nil {
		return "", err
	}
	return start + k.mask(text.String()) + end, nil
}

// footer says how the issue lives, and where the evidence is.
func (k *Tracker) footer() string {
	text := "\n<sub>This issue is kept up to date by `pipeline history issues`: it gets a comment when there is news, and is closed when the series " +
		"recovers or when somebody lets the new level count with `pipeline accept`. Closed by hand it stays closed until the next regression.</sub>\n"
	if k.RunURL != "" {
		text += "\n<sub>[Run](" + k.RunURL + ") · [artifacts](" + k.RunURL + "#artifacts)</sub>\n"
	}
	return text
}

// news is the comment that tells of a state.
func (k *Tracker) news(state, headline string, t *reports.Trend) string {
	text := fmt.Sprintf("%s\n**%s** %s\n", stateMarker(state), headline, k.mask(reports.TrendNews(t)))
	if k.RunURL != "" {
		text += "\n<sub>[Run](" + k.RunURL + ")</sub>\n"
	}
	return text
}

func (k *Tracker) mask(text string) string {
	if k.Mask == nil {
		return text
	}
	return k.Mask(text)
}
