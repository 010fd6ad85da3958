package reports

import "github.com/servegate/pipeline/reports/result"

// Icon marks a verdict. It never stands alone: a word says the same.
type Icon int

// The icons.
const (
	NoIcon Icon = iota
	IconRegression
	IconWarning // a verdict that its gate only warns of
	IconInvalid // invalid or missing
	IconInconclusive
	IconPass
	IconImprovement
	IconIgnored
	IconInfrastructure
	IconInterrupted
	IconInfo
)

var icons = map[Icon]struct{ markdown, text, color string }{
	NoIcon:             {"", "", ""},
	IconRegression:     {"❌", "✗", red},
	IconWarning:        {"⚠️", "!", yellow},
	IconInvalid:        {"🚫", "⊘", red},
	IconInconclusive:   {"❔", "?", yellow},
	IconPass:           {"✅", "✓", green},
	IconImprovement:    {"🚀", "▲", green},
	IconIgnored:        {"▫️", "·", ""},
	IconInfrastructure: {"⛔", "⊘", red},
	IconInterrupted:    {"⏹️", "■", yellow},
	IconInfo:           {"ℹ️", "i", ""},
}

// Emoji is the icon for markdown.
func (i Icon) Emoji() string { return icons[i].markdown }

// Symbol is the icon of one column for terminals.
func (i Icon) Symbol() string { return icons[i].text }

// iconOf is the icon of a verdict in view of what its gate does about it.
func iconOf(g *result.Gate, v result.Verdict) Icon {
	switch v {
	case result.Pass:
		return IconPass
	case result.Improvement:
		return IconImprovement
	}
	switch g.On(v) {
	case result.Ignore:
		return IconIgnored
	case result.Warn:
		if v != result.Inconclusive {
			return IconWarning
		}
	}
	switch v {
	case result.Regression:
		return IconRegression
	case result.Inconclusive:
		return IconInconclusive
	}
	return IconInvalid
}
