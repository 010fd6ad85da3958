package model

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

var icons = map[Icon]struct{ markdown, text string }{
	NoIcon:             {"", ""},
	IconRegression:     {"❌", "✗"},
	IconWarning:        {"⚠️", "!"},
	IconInvalid:        {"🚫", "⊘"},
	IconInconclusive:   {"❔", "?"},
	IconPass:           {"✅", "✓"},
	IconImprovement:    {"🚀", "▲"},
	IconIgnored:        {"▫️", "·"},
	IconInfrastructure: {"⛔", "⊘"},
	IconInterrupted:    {"⏹️", "■"},
	IconInfo:           {"ℹ️", "i"},
}

// Emoji is the icon for markdown.
func (i Icon) Emoji() string { return icons[i].markdown }

// Symbol is the icon of one column for terminals.
func (i Icon) Symbol() string { return icons[i].text }
