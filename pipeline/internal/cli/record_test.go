package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
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
	fine := recordFlags{target: "http://127.0.0.1:1", listen: "127.0.0.1:0", out: filepath.Join(t.TempDir(), "x"),
		Options: recorder.Options{BlockSize: 16, SessionHeader: "X-Session-Id"}}
	for want, change := range map[string]func(*recordFlags){
		"--target must be the URL":                  func(f *recordFlags) { f.target = "" },
		"--out is missing":                          func(f *recordFlags) { f.out = "" },
		"--block-size must be":                      func(f *recordFlags) { f.BlockSize = 0 },
		"--grace must not be":                       func(f *recordFlags) { f.Grace = -1 },
		"exists; name another":                      func(f *recordFlags) { f.out = there },
		`--session-header "a:b" must`:               func(f *recordFlags) { f.SessionHeader = "a:b" },
		`--listen "foo" must be`:                    func(f *recordFlags) { f.listen = "foo" },
		`port "99999" must be a number below 65536`: func(f *recordFlags) { f.listen = "127.0.0.1:99999" },
		`--listen "127.0.0.1:" mus`:                 func(f *recordFlags) { f.listen = "127.0.0.1:" },
	} {
		f := fine
		change(&f)
		err := (&app{}).record(t.Context(), f)
		if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of usage with %q", err, want)
		}
	}
	if kept, _ := os.ReadFile(there); string(kept) != "kept" {
		t.Errorf("the file has become %q", kept)
	}
}

// TestRecordWithoutAddress: an address that is taken leaves no file behind, which would be in the
// way of the next attempt.
func TestRecordWithoutAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	out := filepath.Join(t.TempDir(), "trace.jsonl")
	err = (&app{}).record(t.Context(), recordFlags{target: "http://127.0.0.1:1", listen: l.Addr().String(), out: out,
		Options: recorder.Options{BlockSize: 16, SessionHeader: "X-Session-Id"}})
	if err == nil || !strings.Contains(err.Error(), "choose another --listen address") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestLeadsBack: a recording that is its own target would ask itself without end.
func TestLeadsBack(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 80} }
	for _, c := range []struct {
		target string
		listen net.Addr
		want   bool
	}{
		{"http://127.0.0.1:80", at("127.0.0.1"), true},
		{"http://127.0.0.1", at("127.0.0.1"), true},
		{"http://127.0.0.1", at("::"), true},
		{"http://127.0.0.1:81", at("127.0.0.1"), false},
		{"https://127.0.0.1", at("127.0.0.1"), false},
		{"http://192.0.2.1", at("127.0.0.1"), false},
	} {
		u, err := url.Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := leadsBack(u, c.listen); got != c.want {
			t.Errorf("%s to %s: %v", c.target, c.listen, got)
		}
	}
}

// TestWholeLines: what does not fit is taken back.
func TestWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &wholeLines{file: file}
	if _, err := w.Write([]byte("whole\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("to"); err != nil { // as much of a line as a full disk takes
		t.Fatal(err)
	}
	if err := w.takeBack(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole\n" {
		t.Errorf("the file has %q", got)
	}
	_ = file.Close()
	if _, err := w.Write([]byte("more\n")); err == nil {
		t.Error("a line into a closed file is no error")
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
