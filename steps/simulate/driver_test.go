package simulate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// jumpClock is at once wherever it is told to sleep to.
type jumpClock struct {
	mu  sync.Mutex
	now time.Duration
}

func (c *jumpClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *jumpClock) SleepUntil(ctx context.Context, t time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, t)
	return ctx.Err()
}

// TestDriverKeepsModelTime: served live, a request gets its tokens at the same model
// times as in a replay.
func TestDriverKeepsModelTime(t *testing.T) {
	const input, output, seed = 256, 32, 5
	server, err := NewServer([]string{"vllm", "serve", "m"}, Options{Settings: Settings{LaunchSeed: seed}, Clock: &jumpClock{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Drive(ctx) })
	defer wg.Wait()
	defer cancel()
	prompt := make([]int, input)
	var got []time.Duration
	err = server.driver.generate(ctx, 0, prompt, output, nil, func(tk token) error {
		got = append(got, tk.at)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := Model{Config: server.Config()}.Replay([]model.Arrival{{Input: input, Output: output, Prompt: prompt}}, seed)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want[0].Tokens) {
		t.Errorf("live %v\nreplay %v", got, want[0].Tokens)
	}
}
