package svg

import (
	"unicode"

	"github.com/servegate/pipeline/reports/escape"
)

// cutName shortens the name of a series so that all names fit in one line.
func cutName(name string, series int) string {
	limit := maxName
	if series > 1 {
		limit = max(6, 40/series)
	}
	return escape.Text(name, limit)
}

// textWidth returns the approximate width of s in the font of labels. Wide letters count twice.
func textWidth(s string) float64 {
	const letter = 6.1
	w := 0.0
	for _, r := range s {
		w += letter
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			w += letter
		}
	}
	return w
}
