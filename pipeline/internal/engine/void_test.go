package engine

import (
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// TestVoid: what a server did wrong stays its own, unless a watcher excuses it. The first reason counts.
func TestVoid(t *testing.T) {
	void := func(reason string) Watcher {
		return Watcher{Void: func() (result.VoidCause, string) { return result.VoidMachine, reason }}
	}
	excuse := void("paused")
	excuse.Excuses = true
	for name, tt := range map[string]struct {
		rows   []Watcher
		status result.RunStatus
		want   string
	}{
		"ok":              {[]Watcher{void("")}, result.RunOK, "ok: its own"},
		"throttled":       {[]Watcher{void("throttled"), void("stolen")}, result.RunOK, "void: throttled"},
		"failed":          {[]Watcher{void("throttled")}, result.RunFailed, "failed: its own"},
		"void before":     {[]Watcher{void("throttled")}, result.RunVoid, "void: its own"},
		"cancelled":       {[]Watcher{void("throttled")}, result.RunCancelled, "cancelled: its own"},
		"failed, excused": {[]Watcher{void("throttled"), excuse}, result.RunFailed, "void: paused"},
		"both":            {[]Watcher{void("throttled"), excuse}, result.RunOK, "void: paused"},
	} {
		run := result.Run{Status: tt.status, Reason: "its own"}
		new(runner).tell(&watch{rows: tt.rows}, &run)
		if got := string(run.Status) + ": " + run.Reason; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
