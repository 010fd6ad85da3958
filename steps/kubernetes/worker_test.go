package kubernetes

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKeeper: it waits while the file changes, and no longer than the silence when it does not.
func TestKeeper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beat")
	var out bytes.Buffer
	began := time.Unix(0, 0)
	now := began
	w := InPod{Out: &out, Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		if past := now.Sub(began); past <= 10*time.Minute && int(past.Seconds())%200 == 0 {
			return os.WriteFile(file, []byte(past.String()), 0o600)
		}
		return nil
	}}
	if err := w.Work(t.Context(), []string{workerKeep, file, "5m"}); err != nil {
		t.Fatal(err)
	}
	if lived := now.Sub(began); lived != 15*time.Minute+time.Second && lived != 15*time.Minute ||
		!strings.Contains(out.String(), "no heartbeat of the run for 5m0s") {
		t.Errorf("it lived for %s: %q", lived, out.String())
	}
}
