package model

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTokenizerIsReversible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ a-zA-Z,.]{0,80}`)).Draw(t, "text")
		ids := Encode(text)
		if got := Decode(ids); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		for _, id := range ids {
			if id < 0 || id >= VocabSize {
				t.Fatalf("id %d is outside the vocabulary", id)
			}
		}
	})
}

func TestGeneratedTextKeepsItsTokens(t *testing.T) {
	ids := Encode("shall i compare thee")
	n := len(ids)
	for range 50 {
		ids = append(ids, nextToken(0, ids, len(ids)))
	}
	if got := Encode(Decode(ids[n:])); len(got) != 50 {
		t.Errorf("50 tokens of output are encoded as %d", len(got))
	}
}

func TestStableIDs(t *testing.T) {
	for text, want := range map[string]int{"a": 300, "z": 325, "aa": 326, "zzz": firstPiece + pieceCount - 1, " a": firstPiece +
		pieceCount, "A": 65} {
		if got := Encode(text); len(got) != 1 || got[0] != want {
			t.Errorf("Encode(%q) = %v, want %d", text, got, want)
		}
	}
}
