package ui

// ANSI colours (ECMA-48 select graphic rendition).
const (
	sgrReset  = "\x1b[0m"
	sgrFaint  = "\x1b[2m"
	sgrRed    = "\x1b[31m"
	sgrGreen  = "\x1b[32m"
	sgrYellow = "\x1b[33m"
)

// paint colours a whole line by its tone.
func paint(color bool, t tone, s string) string {
	if !color || s == "" {
		return s
	}
	switch t {
	case bad:
		return sgrRed + s + sgrReset
	case caution:
		return sgrYellow + s + sgrReset
	case logged:
		return sgrFaint + s + sgrReset
	}
	return s
}

// mark is the sign before a line on a terminal.
func mark(color bool, t tone) string {
	switch t {
	case good:
		if color {
			return sgrGreen + "✓" + sgrReset
		}
		return "✓"
	case caution:
		return paint(color, t, "!")
	case bad:
		return paint(color, t, "✗")
	case detail:
		return " "
	case logged:
		return paint(color, t, "|")
	}
	return "·"
}
