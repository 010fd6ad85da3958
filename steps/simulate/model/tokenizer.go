package model

import "strings"

// The toy vocabulary: one token for each byte, then all words of one to three lower-case letters,
// without and with a space before them. Any text can be encoded, and decoding restores it byte for
// byte. English has about two tokens a word.
const (
	endOfText   = 256 // the ID of <|endoftext|> in a real tokenizer
	firstPiece  = 300
	pieceCount  = 26 + 26*26 + 26*26*26
	maxPieceLen = 3
	// VocabSize of the toy tokenizer; IDs from 0 to VocabSize-1 can be decoded.
	VocabSize = firstPiece + 2*pieceCount
)

// Encode returns the token IDs of text.
func Encode(text string) []int {
	ids := make([]int, 0, len(text)/2+1)
	for i := 0; i < len(text); {
		start := i
		if text[i] == ' ' && i+1 < len(text) && isLetter(text[i+1]) {
			start++
		}
		end := start
		for end < len(text) && end-start < maxPieceLen && isLetter(text[end]) {
			end++
		}
		if end == start {
			ids = append(ids, int(text[i]))
			i++
			continue
		}
		id := firstPiece + pieceIndex(text[start:end])
		if start > i {
			id += pieceCount
		}
		ids = append(ids, id)
		i = end
	}
	return ids
}

// Decode returns the text of token IDs. IDs outside the vocabulary become U+FFFD.
func Decode(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		writeToken(&b, id)
	}
	return b.String()
}

func writeToken(b *strings.Builder, id int) {
	switch {
	case id >= 0 && id < 256:
		b.WriteByte(byte(id))
	case id >= firstPiece && id < VocabSize:
		id -= firstPiece
		if id >= pieceCount {
			b.WriteByte(' ')
			id -= pieceCount
		}
		b.WriteString(pieceAt(id))
	case id == endOfText:
	default:
		b.WriteRune('�')
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

// pieceIndex returns the index of a word: words of one, then two, then three letters, each in
// alphabetical order.
func pieceIndex(word string) int {
	n := 0
	for i := range len(word) {
		n = n*26 + int(word[i]-'a')
	}
	for l := 1; l < len(word); l++ {
		n += pow26(l)
	}
	return n
}

func pieceAt(n int) string {
	length := 1
	for n >= pow26(length) {
		n -= pow26(length)
		length++
	}
	var buf [maxPieceLen]byte
	for i := length - 1; i >= 0; i-- {
		buf[i] = byte('a' + n%26)
		n /= 26
	}
	return string(buf[:length])
}

func pow26(n int) int {
	p := 1
	for range n {
		p *= 26
	}
	return p
}

// near is the number of tokens that the next one depends on.
const near = 8

// nextToken returns the model's next token after a text of a length in tokens that ends with ids: a word of three letters
// with a space before it, drawn from a hash of the last tokens, the position and a salt. It never ends a text.
func nextToken(salt uint64, ids []int, length int) int {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	h := Hash(salt^uint64(length), ids[max(0, len(ids)-near):])
	pick := func(letters string) byte {
		c := letters[h%uint64(len(letters))]
		h /= uint64(len(letters))
		return c
	}
	h >>= 1 // the lowest bit of a block's hash is always set
	word := string([]byte{pick(consonants), pick(vowels), pick(consonants)})
	return firstPiece + pieceCount + pieceIndex(word)
}

// naturalLength returns the number of tokens after which the model ends its answer unless
// end-of-sequence is ignored: between 16 and 271, from a hash of the prompt.
func naturalLength(prompt []int) int {
	return 16 + int(Hash(0, prompt)>>1%256)
}

// Answer returns how many of want tokens the model generates, at least least, and the reason for
// the end.
func Answer(prompt []int, want, least int, ignoreEOS bool) (n int, finish string) {
	if ignoreEOS {
		return want, "length"
	}
	if natural := max(naturalLength(prompt), least); natural <= want {
		return natural, "stop"
	}
	return want, "length"
}
