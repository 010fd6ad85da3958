package event

import "bytes"

// separators are the characters that programs put between lines, groups and bytes of encoded text.
const separators = " \t\r\n:,;-'\""

var separates = func() (set [256]bool) {
	for _, c := range []byte(separators) {
		set[c] = true
	}
	return set
}()

// joined returns a text without the separators of encoded text: wrapped base64, or hexadecimal
// bytes with spaces, colons or commas.
func (ps *patterns) joined(text []byte, final bool) view {
	if n := len(text); !final {
		text = text[:n-openPrefix(text)]
	}
	for _, c := range text {
		if !plainBytes[c] && !separates[c] && c != '+' {
			return newView(text, reading{joined: true}, final)
		}
	}
	v := view{text: text, open: int32(len(text))}
	first := ps.encoded.firstJoined(&v)
	rest := view{text: text[first:]}
	out := rest.empty()
	out.open = v.open
	for i := first; i < len(text); i++ {
		if !v.separates(i) {
			out.text = append(out.text, text[i])
			out.from = append(out.from, int32(i))
			out.to = append(out.to, int32(i+1))
		}
	}
	return out
}

// firstJoined returns the first position at which a text can occur in v without its separators.
func (t *texts) firstJoined(v *view) int {
	key, at := uint32(0), [indexed]int{} // the last characters and their positions
	count := 0
	for i, c := range v.text {
		if v.separates(i) {
			continue
		}
		key = key<<8 | uint32(small[c])
		copy(at[:], at[1:])
		at[indexed-1] = i
		if count++; count >= indexed && t.starts.has(key) {
			return at[0]
		}
	}
	// The beginning of one is shorter than the index.
	return at[max(1, indexed-count)%indexed]
}

// openPrefix returns how many bytes at the end of a text may become 0x and two digits.
func openPrefix(text []byte) int {
	for n := min(4, len(text)-1); n > 0; n-- {
		end := text[len(text)-n:]
		whole := append([]byte("0x00"), ' ')
		copy(whole, end)
		v := view{text: append([]byte{' '}, whole[:4]...)}
		if separates[text[len(text)-n-1]] && v.prefixed(1) {
			return n
		}
	}
	return 0
}

// separates reports whether a byte separates parts of encoded text. This includes the 0x before two
// digits.
func (v *view) separates(i int) bool {
	c := v.text[i]
	if separates[c] {
		return true
	}
	if small[c] == 'x' {
		i--
	}
	return (c == '0' || small[c] == 'x') && v.prefixed(i)
}

// prefixed reports whether 0x and two digits are at i, between separators.
func (v *view) prefixed(i int) bool {
	if i < 1 || !separates[v.text[i-1]] || i+4 > len(v.text) || v.text[i] != '0' || small[v.text[i+1]] != 'x' {
		return false
	}
	return hexDigits[v.text[i+2]] && hexDigits[v.text[i+3]] && (i+4 == len(v.text) || separates[v.text[i+4]])
}

var hexDigits = func() (set [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEF") {
		set[c] = true
	}
	return set
}()

// Limits of a line of a dump.
const (
	leastOffset, mostOffset = 4, 16 // digits
	mostBytes               = 32    // in a line
)

// dumped reads the lines of a text that hexdump, od or xxd have printed: their digits, and the
// characters in the column after them. before is the byte before the text. ok is false if there are
// none.
func dumped(before byte, text []byte, final bool) (digits, column view, ok bool) {
	digits = view{open: int32(len(text)), hold: []int32{}, parts: true}
	column = digits
	for from := 0; from < len(text); {
		end := bytes.IndexByte(text[from:], '\n')
		whole := end >= 0
		if end += from; !whole {
			end = len(text)
		}
		line := bytes.TrimRight(text[from:end], "\r")
		bytesEnd, first, isDump := dumpLine(line)
		begins := from > 0 || before == 0 || before == '\n'
		isDump = isDump && begins
		goesOn := begins && !whole && !final && (isDump || len(line) <= mostOffset+2 && begun(line))
		switch {
		case isDump:
			ok = true
			for i := first; i < bytesEnd; i++ {
				if line[i] != ' ' {
					digits.take(text, from+i, from)
				}
			}
			for i := columnOf(line, bytesEnd); i < len(bytes.TrimRight(line, "|<")); i++ {
				column.take(text, from+i, from)
			}
		case ok && !goesOn:
			digits.split(from)
			column.split(from)
		}
		if goesOn {
			ok, digits.open = true, int32(from)
		}
		from = end + 1
	}
	return digits, column, ok
}

func (v *view) take(text []byte, i, line int) {
	v.text = append(v.text, text[i])
	v.from = append(v.from, int32(i))
	v.to = append(v.to, int32(i+1))
	v.hold = append(v.hold, int32(line))
}

// split separates the text before and after other lines.
func (v *view) split(at int) {
	if n := len(v.text); n > 0 && v.text[n-1] != 0 {
		v.text, v.from, v.to, v.hold = append(v.text, 0), append(v.from, int32(at)), append(v.to, int32(at)), append(v.hold, int32(at))
	}
}

// dumpLine finds the bytes of a line that begins with an offset: line[first:end].
func dumpLine(line []byte) (end, first int, ok bool) {
	i := 0
	if bytes.HasPrefix(line, []byte("0x")) {
		i = 2
	}
	offset := i
	for i < len(line) && hexDigits[line[i]] {
		i++
	}
	if i-offset < leastOffset || i-offset > mostOffset {
		return 0, 0, false
	}
	if i < len(line) && line[i] == ':' {
		i++
	}
	first, end = i, i
	for count := 0; count < mostBytes && i < len(line) && line[i] == ' '; {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		from := i
		for i < len(line) && hexDigits[line[i]] {
			i++
		}
		if n := i - from; n < 2 || n%2 != 0 || n > mostOffset || i < len(line) && line[i] != ' ' {
			break
		}
		count += (i - from) / 2
		end = i
	}
	return end, first, end > first
}

// columnOf returns where the characters begin after the bytes of a line.
func columnOf(line []byte, end int) int {
	for end < len(line) && line[end] == ' ' {
		end++
	}
	if end < len(line) && (line[end] == '|' || line[end] == '>') {
		end++
	}
	return end
}

// begun reports whether a line may become one of a dump.
func begun(line []byte) bool {
	for _, c := range line {
		if !hexDigits[c] && c != ':' && c != ' ' && c != 'x' {
			return false
		}
	}
	return len(line) > 0
}
