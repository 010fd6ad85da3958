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

var icons = map[Icon]struct{ markdown, text, class string }{
	NoIcon:             {"", "", ""},
	IconRegression:     {"❌", "✗", "bad"},
	IconWarning:        {"⚠️", "!", "warn"},
	IconInvalid:        {"🚫", "⊘", "bad"},
	IconInconclusive:   {"❔", "?", "warn"},
	IconPass:           {"✅", "✓", "good"},
	IconImprovement:    {"🚀", "▲", "good"},
	IconIgnored:        {"▫️", "·", ""},
	IconInfrastructure: {"⛔", "⊘", "bad"},
	IconInterrupted:    {"⏹️", "■", "warn"},
	IconInfo:           {"ℹ️", "i", ""},
}

// Emoji returns the icon for markdown.
func (i Icon) Emoji() string { return icons[i].markdown }

// Class returns the class of an icon that has a colour: "bad", "warn" or "good".
func (i Icon) Class() string { return icons[i].class }

// Symbol returns the icon for terminals, one column wide.
func (i Icon) Symbol() string { return icons[i].text }
