package model

// Icon marks a verdict. A word with the same meaning always accompanies it.
type Icon int

// The icons.
const (
	NoIcon Icon = iota
	IconRegression
	IconWarning // a verdict for which its gate only warns
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

// Emoji returns the icon for markdown.
func (i Icon) Emoji() string { return icons[i].markdown }

// Symbol returns the icon for terminals, one column wide.
func (i Icon) Symbol() string { return icons[i].text }
