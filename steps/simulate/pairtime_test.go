package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/model/modeltest"
	"github.com/servegate/pipeline/steps/simulate/transfer"
	"github.com/servegate/pipeline/steps/stamp"
)

// TestPairKeepsModelTime: two servers behind real sockets, driven by the stamps that a
// router passes on, complete every request at the very times of a replay: what the sockets
// and the goroutines between them need is no part of it.
func TestPairKeepsModelTime(t *testing.T) {
	for range 3 {
		// Far enough apart that no two transfers are asked for at once: which of those is the
		// first is open.
		want, got, missed := runPairInTime(t, nixlCase(t, "NixlConnector", nil), 90*time.Millisecond)
		if missed > 0 {
			t.Logf("%d messages came later than the model's steps can wait: tried again", missed)
			continue
		}
		for i := range want {
			if d := got[i] - want[i]; d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("request %d is complete at %v, replayed at %v", i, got[i], want[i])
			}
		}
		return
	}
	t.Skip("this machine is too busy to run two servers side by side")
}

// runPairInTime sends requests through a new pair and replays them.
func runPairInTime(t *testing.T, c pairCase, gap time.Duration) (want, got []time.Duration, missed int) {
	t.Helper()
	const requests, output, seed = 10, 4, 5
	clock := clock.NewWall(0.2) // five times slower than real servers, so that there is time to wait for messages
	prefill := startInTime(t, c.p, clock, seed)
	decode := startInTime(t, c.d, clock, seed+1)
	pair := modeltest.Pair{Prefill: prefill.server.Config(), Decode: decode.server.Config(), Link: transfer.LinkOf(decode.server.launch.kv,
		decode.server.Config().Profile.Net), Hop: prefill.server.Config().Profile.Hop}

	var arrivals []model.Arrival
	begin := clock.Now() + 20*time.Millisecond
	for i := range requests {
		prompt := randomPrompt(i, 200+40*(i%4))
		at := begin + time.Duration(i)*gap + time.Duration(i*i%7)*time.Millisecond
		arrivals = append(arrivals, model.Arrival{At: at, Input: len(prompt), Output: output, Prompt: prompt})
	}
	timelines, err := pair.Replay(arrivals, seed)
	if err != nil {
		t.Fatal(err)
	}
	got = make([]time.Duration, requests)
	var clients sync.WaitGroup
	for i, a := range arrivals {
		want = append(want, timelines[i].Tokens[output-1])
		clients.Go(func() { got[i] = throughPair(t, clock, prefill.url, decode.url, a) })
	}
	clients.Wait()
	for _, m := range []*member{prefill, decode} {
		missed += m.server.driver.late.Missed()
	}
	return want, got, missed
}

// startInTime starts a member of a pair of A10s on a clock.
func startInTime(t *testing.T, spec memberSpec, clock clock.Clock, seed uint64) *member {
	t.Helper()
	argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "--host", "127.0.0.1"}, spec.args...)
	if !slices.Contains(argv, "--max-model-len") {
		argv = append(argv, "--max-model-len", "10000")
	}
	s, err := NewServer(argv, Options{Settings: Settings{Version: spec.version, Profile: "a10", LaunchSeed: seed},
		Env: func(k string) string { return spec.env[k] }, Clock: clock, PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Drive(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		h.Close()
		s.Close()
	})
	return &member{url: h.URL, server: s}
}

// throughPair does as the router does, a little ahead of time: the stamp says when the
// request comes. It returns when the answer was complete.
func throughPair(t *testing.T, shared clock.Clock, prefill, decode string, a model.Arrival) time.Duration {
	t.Helper()
	// Not at once: who waits for a request does not look for an earlier one meanwhile.
	if err := shared.SleepUntil(t.Context(), a.At-10*time.Millisecond); err != nil {
		t.Error(err)
	}
	ask, hand := map[string]any{"kv_transfer_params": map[string]any{"do_remote_decode": true, "do_remote_prefill": false}}, map[string]any{}
	answer, at := postStamped(t, prefill, clock.Format(shared, a.At), completion(a.Prompt, 1, ask))
	if params := answer["kv_transfer_params"]; params != nil {
		hand["kv_transfer_params"] = params
	}
	_, at = postStamped(t, decode, at, completion(a.Prompt, a.Output, hand))
	done, ok := clock.Parse(shared, at)
	if !ok {
		t.Errorf("the answer is stamped %q", at)
	}
	return done
}

func postStamped(t *testing.T, url, at string, body map[string]any) (answer map[string]any, done string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/completions", bytes.NewReader(text))
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	req.Header.Set(stamp.Header, at)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		t.Error(err)
	}
	return answer, resp.Header.Get(stamp.Header)
}
