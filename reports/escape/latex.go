package escape

import "strings"

// latex maps what TeX reads as a command, and signs of reports that pdfTeX has no letter for, to what prints them.
var latex = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`, '^': `\textasciicircum{}`,
	'~': `\textasciitilde{}`, '<': `$<$`, '>': `$>$`, '|': `\textbar{}`, '"': `\textquotedbl{}`,
	'`': `\textasciigrave{}`,
	'−': `$-$`, '×': `$\times$`, '±': `$\pm$`, '≤': `$\le$`, '≥': `$\ge$`, '↓': `$\downarrow$`, '↑': `$\uparrow$`, '→': `$\rightarrow$`,
	'…': `\ldots{}`, '·': `$\cdot$`, 'µ': `\textmu{}`, 'μ': `\textmu{}`, 'α': `$\alpha$`,
}

// LaTeX returns s as text of a LaTeX document, in one line of at most limit runes; limit <= 0 means no limit.
func LaTeX(s string, limit int) string {
	var b strings.Builder
	for _, r := range Text(s, limit) {
		if t, ok := latex[r]; ok {
			b.WriteString(t)
		} else {
			b.WriteRune(r)
		}
	}
	return ligatures.Replace(b.String())
}

// ligatures separates signs that TeX joins.
var ligatures = strings.NewReplacer("--", "-{}-", "''", "'{}'", "—", "---", "–", "--")
