//go:build unix

package regular_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/regular"
)

// A pipe without a writer, a device and a directory are refused at once.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	for path, want := range map[string]string{fifo: "a named pipe", "/dev/zero": "a device", t.TempDir(): "a directory"} {
		_, err := regular.Open(path)
		var wrong *regular.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to be %s", path, err, want)
		}
	}
}
