package weights

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// weightsOf writes a file of some bytes.
func weightsOf(t *testing.T, name string, bytes int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func plenty() (int64, error) { return 1 << 40, nil }

func TestAheadReadsNothingThatDoesNotFit(t *testing.T) {
	files := []string{weightsOf(t, "a", 600), weightsOf(t, "b", 400)}
	for free, want := range map[int64]result.ReadAhead{
		1249: {Bytes: 1000, Skipped: "1000 B of weights do not fit in the 1.22 KiB of memory that are available"},
		1250: {Bytes: 1000},
	} {
		got, err := ahead(t.Context(), files, func() (int64, error) { return free, nil })
		if got.Read = 0; err != nil || got != want { // how much was in memory is the machine's affair
			t.Errorf("%d bytes available: %+v, %v", free, got, err)
		}
	}
}

func TestAheadReportsWhatCannotBeRead(t *testing.T) {
	if _, err := ahead(t.Context(), []string{"/none"}, plenty); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted by test"))
	if got, err := ahead(ended, []string{weightsOf(t, "a", 10)}, plenty); err == nil || err.Error() != "interrupted by test" || got.Read != 0 {
		t.Errorf("interrupted: %+v, %v", got, err)
	}
}
