package dockerhost

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sockets at which nobody answers go; those that are used, or about to be, stay.
func TestRemoveSockets(t *testing.T) {
	tmp, err := os.MkdirTemp("/tmp", "sockets-") //nolint:usetesting // a socket wants a short path
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	folder := func(name string) string {
		dir := filepath.Join(tmp, socketDir+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	listen := func(dir string) *net.UnixListener {
		ln, err := net.Listen("unix", filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		return ln.(*net.UnixListener)
	}
	used, dead, young, old := folder("used"), folder("dead"), folder("young"), folder("old")
	ln := listen(used)
	defer func() { _ = ln.Close() }()
	gone := listen(dead)
	gone.SetUnlinkOnClose(false)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	if err := removeSockets(tmp); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{used: true, dead: false, young: true, old: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", filepath.Base(dir), err == nil, want)
		}
	}
}

// A socket's path must be short, however long that of the folder for temporary files is.
func TestSocketBase(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp")
	if got := socketBase(); got != "/var/tmp" {
		t.Errorf("got %s", got)
	}
	t.Setenv("TMPDIR", "/"+strings.Repeat("long", 20))
	if got := socketBase(); got != "/tmp" {
		t.Errorf("got %s", got)
	}
}
