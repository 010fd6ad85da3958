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

// plenty of memory, with nothing in it.
var plenty = memory{
	available: func() (int64, error) { return 1 << 40, nil },
	has:       func(*os.File, int64, int64) bool { return false },
}

// What is not in memory is read, and nothing else.
func TestAheadReadsWhatIsNotInMemory(t *testing.T) {
	const rest = 12345
	files := []string{weightsOf(t, "a", 2*chunk+rest), weightsOf(t, "b", rest), weightsOf(t, "empty", 0)}
	for name, tt := range map[string]struct {
		has  func(file *os.File, at int64) bool
		want int
	}{
		"nothing there":           {func(*os.File, int64) bool { return false }, 2*chunk + 2*rest},
		"all there":               {func(*os.File, int64) bool { return true }, 0},
		"the middle of one there": {func(file *os.File, at int64) bool { return file.Name() == files[0] && at == chunk }, chunk + 2*rest},
		"the other there":         {func(file *os.File, _ int64) bool { return file.Name() == files[1] }, 2*chunk + rest},
	} {
		m := memory{plenty.available, func(file *os.File, at, length int64) bool {
			if length != chunk {
				t.Errorf("%s: asked for %d bytes at once", name, length)
			}
			return tt.has(file, at)
		}}
		want := result.ReadAhead{Bytes: 2*chunk + 2*rest, Read: tt.want}
		if got, err := m.ahead(t.Context(), files); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestAheadReadsNothingThatDoesNotFit(t *testing.T) {
	files := []string{weightsOf(t, "a", 600), weightsOf(t, "b", 400)}
	for free, want := range map[int64]result.ReadAhead{
		1249: {Bytes: 1000, Skipped: "1000 B of weights do not fit in the 1.22 KiB of memory that are available"},
		1250: {Bytes: 1000, Read: 1000},
	} {
		got, err := memory{func() (int64, error) { return free, nil }, plenty.has}.ahead(t.Context(), files)
		if err != nil || got != want {
			t.Errorf("%d bytes available: %+v, %v", free, got, err)
		}
	}
}

func TestAheadReportsWhatCannotBeRead(t *testing.T) {
	if _, err := plenty.ahead(t.Context(), []string{"/none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("interrupted by test"))
	if got, err := plenty.ahead(ended, []string{weightsOf(t, "a", 10)}); err == nil || err.Error() != "interrupted by test" || got.Read != 0 {
		t.Errorf("interrupted: %+v, %v", got, err)
	}
}
