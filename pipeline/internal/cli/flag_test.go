package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEnumFlag registers a table of options and nothing else: the usage, the completion and
// the messages follow from it.
func TestEnumFlag(t *testing.T) {
	var got int
	var list []int
	cmd := &cobra.Command{Use: "toy", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	options := []option[int]{{"first", 1, ""}, {"second", 2, "the other one"}}
	enumFlag(cmd, &got, "one", "first", options, "one of `them`")
	enumListFlag(cmd, &list, "some", options, "some of them")
	if got != 1 {
		t.Errorf("default %d", got)
	}
	for _, tt := range []struct{ arg, err string }{
		{"--one=second", ""},
		{"--some=first, second", ""},
		{"--one=secnd", `invalid argument "secnd" for "--one" flag: must be one of first, second; did you mean second?`},
		{"--one=", `must be one of first, second, not ""`},
		{"--some=first,", `must be one of first, second, not ""`},
	} {
		cmd.SetArgs([]string{tt.arg})
		err := cmd.Execute()
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasSuffix(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.arg, err, tt.err)
		}
	}
	if got != 2 || len(list) != 2 {
		t.Errorf("got %d and %v", got, list)
	}
	if usage := cmd.Flags().Lookup("one").Usage; usage != "one of `them`: first or second (the other one)" {
		t.Errorf("usage %q", usage)
	}
	complete, ok := cmd.GetFlagCompletionFunc("one")
	if !ok {
		t.Fatal("no completion")
	}
	if names, _ := complete(cmd, nil, ""); len(names) != 2 || names[1] != "second\tthe other one" {
		t.Errorf("completes %q", names)
	}
}
