package dataset_test

import (
	"slices"
	"strings"
	"testing"
)

// What of a trace is not replayed is said.
func TestTraceNotes(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		entries int
		notes   []string // the beginnings
	}{
		"BurstGPT": {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log " +
			"Type\n5,ChatGPT,472,18,490,Conversation log\n", 1, nil},
		"BurstGPT, failures": {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log " +
			"Type\n5,ChatGPT,472,18,490,x\n6,ChatGPT,472,0,472,x\n7,GPT-4,1,0,1,x\n", 1, []string{"2 of 3 requests have no output token"}},
		"BurstGPT, with sessions": {"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log " +
			"Type\n5,a,1,ChatGPT,472,18,490,x\n", 1, []string{"columns that are not replayed: Session ID"}},
		"Azure": {"TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n", 1, nil},
		"Azure, with images": {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15 00:00:00.0000000,2,900,120\n2024-10-15 " +
			"00:00:01.5000000,0,374,44\n", 2, []string{"1 of 2 requests had images (NumImages)"}},
		"Azure, without any": {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15 00:00:00.0000000,0,900,120\n", 1, nil},
		"Azure, both": {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15 00:00:00.0000000,1,900,0\n2024-10-15 " +
			"00:00:01.5000000,3,374,44\n", 1, []string{"1 of 2 requests have no output token", "1 of 2 requests had images"}},
	} {
		table, err := readKind(t, "trace", strings.NewReader(tt.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same := slices.EqualFunc(table.Notes, tt.notes, strings.HasPrefix)
		if len(table.Entries) != tt.entries || !same {
			t.Errorf("%s: %d requests, notes %q; want %d and %q", name, len(table.Entries), table.Notes, tt.entries, tt.notes)
		}
	}
}
