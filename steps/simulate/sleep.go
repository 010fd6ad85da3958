package simulate

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps/simulate/wire"
)

// Cost of moving weights between a GPU and the memory of its host.
const (
	hostLink  = 20e9 // bytes per second and GPU, about the rate of PCIe 4
	moveStart = 300 * time.Millisecond
)

// moveTime returns how long the launch takes to fall asleep or to wake.
func (l *launch) moveTime() time.Duration {
	bytes := l.config.Shape.WeightBytes / float64(max(l.config.GPUs, 1))
	return moveStart + time.Duration(bytes/hostLink*float64(time.Second))
}

// errWake is vLLM's error for a server that does not wake.
var errWake = errors.New("CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62")

// wakes returns why the launch does not wake, or nil.
func (l *launch) wakes() error {
	if l.fail.NoWake {
		return errWake
	}
	return nil
}

// bed records whether a server sleeps.
type bed struct{ asleep atomic.Bool }

// sleep answers a request to fall asleep once the weights have moved.
func (s *Server) sleep(w http.ResponseWriter, r *http.Request) {
	if s.clock.SleepUntil(r.Context(), s.clock.Now()+s.launch.moveTime()) != nil {
		return // the client is gone
	}
	s.bed.asleep.Store(true)
	s.driver.resetPrefixCache() // the KV cache is lost
	w.WriteHeader(http.StatusOK)
}

func (s *Server) wake(w http.ResponseWriter, r *http.Request) {
	if s.clock.SleepUntil(r.Context(), s.clock.Now()+s.launch.moveTime()) != nil {
		return
	}
	if err := s.launch.wakes(); err != nil {
		s.log.core("ERROR", "core.py:720", "RuntimeError: %v", err)
		wire.WriteJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	s.bed.asleep.Store(false)
	w.WriteHeader(http.StatusOK)
}

// routesSleepVLLM exist in development mode. Without the flag vLLM reports that it sleeps, but
// frees nothing.
func (s *Server) routesSleepVLLM(mux *http.ServeMux) {
	moved := func(do http.HandlerFunc, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			began := s.clock.Now()
			do(w, r)
			s.log.core("INFO", "executor_base.py:187", text, (s.clock.Now() - began).Seconds())
		}
	}
	mux.HandleFunc("POST /sleep", moved(s.sleep, "It took %.6f seconds to fall asleep."))
	mux.HandleFunc("POST /wake_up", moved(s.wake, "It took %.6f seconds to wake up tags {'weights', 'kv_cache'}."))
	mux.HandleFunc("GET /is_sleeping", func(w http.ResponseWriter, _ *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]bool{"is_sleeping": s.bed.asleep.Load()})
	})
}

// refuses rejects a request for tokens while the server sleeps.
func (b *bed) refuses(w http.ResponseWriter, r *http.Request) bool {
	if !b.asleep.Load() || r.Method != http.MethodPost || !generates(r.URL.Path) {
		return false
	}
	wire.WriteJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "the engine is asleep"})
	return true
}

// generates reports whether a path answers with tokens.
func generates(path string) bool {
	return path == "/generate" || path == "/v1/completions" || path == "/v1/chat/completions"
}

// MoveTime returns how long the server takes to fall asleep or to wake.
func (v *Virtual) MoveTime() time.Duration { return v.launch.moveTime() }

// Wakes returns why the server does not wake, or nil.
func (v *Virtual) Wakes() error { return v.launch.wakes() }
