package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/recorder"
)

// TestRecordRefuses: what cannot be recorded is a mistake of usage, and no file is overwritten.
func TestRecordRefuses(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there.jsonl")
	if err := os.WriteFile(there, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1"
	for want, f := range map[string]recordFlags{
		"--target must be the URL": {out: "x", Options: recorder.Options{BlockSize: 16}},
		"--out is missing":         {target: url, Options: recorder.Options{BlockSize: 16}},
		"--block-size must be":     {target: url, out: "x"},
		"exists; name another":     {target: url, out: there, Options: recorder.Options{BlockSize: 16}},
	} {
		err := (&app{}).record(t.Context(), f)
		if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of usage with %q", err, want)
		}
	}
	if kept, _ := os.ReadFile(there); string(kept) != "kept" {
		t.Errorf("the file has become %q", kept)
	}
}

// TestRecordEnds: a recording that is interrupted ends well, with its file and what it recorded.
func TestRecordEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said strings.Builder
	out := filepath.Join(t.TempDir(), "trace.jsonl")
	a := &app{}
	a.Err = &said
	f := recordFlags{target: "http://127.0.0.1:1", listen: "127.0.0.1:0", out: out, Options: recorder.Options{BlockSize: 16}}
	if err := a.record(ctx, f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(out); err != nil || !strings.Contains(said.String(), "0 calls of 0 sessions recorded") {
		t.Errorf("%v: %s", err, said.String())
	}
}
