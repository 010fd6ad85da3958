package engine_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// TestReset: a busy server is asked again five times a second, ten times at most, until the caller gives up.
func TestReset(t *testing.T) {
	for name, tt := range map[string]struct {
		busy   int // requests that find the server busy
		status int
		limit  time.Duration
		want   error
		took   time.Duration
	}{
		"idle":          {0, 200, time.Hour, nil, 0},
		"busy at first": {2, 200, time.Hour, nil, 400 * time.Millisecond},
		"always busy":   {100, 200, time.Hour, engine.ErrBusy, 1800 * time.Millisecond},
		"interrupted":   {100, 200, time.Second / 2, context.DeadlineExceeded, time.Second / 2},
		"no such path":  {0, 405, time.Hour, steps.ErrNoReset, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked <= tt.busy {
					w.WriteHeader(http.StatusConflict)
					return
				}
				w.WriteHeader(tt.status)
			}))
			defer s.Close()
			synctest.Test(t, func(t *testing.T) { // the server is outside, and the client keeps no connections
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				began := time.Now()
				err := engine.NewClient().Reset(ctx, steps.Endpoint{BaseURL: s.URL}, "/reset", "",
					func(a engine.Answer) bool { return a.Status == http.StatusConflict })
				if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.took {
					t.Errorf("%v after %v; want %v after %v", err, took, tt.want, tt.took)
				}
			})
		})
	}
}
