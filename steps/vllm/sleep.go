package vllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// flagSleep makes vLLM allocate weights and KV cache such that they can be released.
const flagSleep = "enable_sleep_mode"

// CheckSleep implements steps.Sleeper. The endpoints exist in the development mode, which Render
// sets.
func (vllm) CheckSleep(spec steps.ServerSpec) error {
	if !argument.SettingsOf(spec).On(flagSleep) {
		return errors.New("it gives no memory back as it is started; set " + flagSleep + " = true in args")
	}
	if mode, ok := steps.Getenv(spec.Env, "VLLM_SERVER_DEV_MODE"); ok && mode != "1" {
		return fmt.Errorf("it is put to sleep by a path that exists with VLLM_SERVER_DEV_MODE=1, and env sets it to %q; leave it out", mode)
	}
	return nil
}

// Sleep implements steps.Sleeper at level 1, which moves the weights to the memory of the host.
func (v vllm) Sleep(ctx context.Context, ep steps.Endpoint) error {
	if err := v.client.Move(ctx, ep, "/sleep?level=1", nil); err != nil {
		return err
	}
	return v.awaitSleeping(ctx, ep, true)
}

// Wake implements steps.Sleeper.
func (v vllm) Wake(ctx context.Context, ep steps.Endpoint) error {
	if err := v.client.Move(ctx, ep, "/wake_up", nil); err != nil {
		return err
	}
	return v.awaitSleeping(ctx, ep, false)
}

// Number and interval of the polls for the sleep state: some versions answer before they have moved
// all data.
const (
	sleepingAttempts = 100
	sleepingPause    = 200 * time.Millisecond
)

// awaitSleeping waits until GET /is_sleeping returns want.
func (v vllm) awaitSleeping(ctx context.Context, ep steps.Endpoint, want bool) error {
	for i := 1; ; i++ {
		is, err := v.sleeping(ctx, ep)
		switch {
		case err != nil:
			return err
		case is == want:
			return nil
		case i == sleepingAttempts:
			return fmt.Errorf("GET /is_sleeping: it still says is_sleeping: %t", is)
		}
		if err := steps.Sleep(ctx, sleepingPause); err != nil {
			return err
		}
	}
}

func (v vllm) sleeping(ctx context.Context, ep steps.Endpoint) (bool, error) {
	a, err := v.client.Get(ctx, ep, "/is_sleeping")
	if err != nil {
		return false, err
	}
	var answer struct {
		Sleeping *bool `json:"is_sleeping"`
	}
	if !a.OK() || json.Unmarshal(a.Body, &answer) != nil || answer.Sleeping == nil {
		return false, a.Err("GET /is_sleeping")
	}
	return *answer.Sleeping, nil
}
