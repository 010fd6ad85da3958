package sglang

import (
	"context"
	"errors"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// CheckSleep implements steps.Sleeper. Without a backup SGLang drops its weights, and then answers with noise.
func (sglang) CheckSleep(spec steps.ServerSpec) error {
	for _, flag := range []string{"enable_memory_saver", "enable_weights_cpu_backup"} {
		if !argument.SettingsOf(spec).On(flag) {
			return errors.New("it gives no memory back, or does not keep its weights, as it is started; set enable_memory_saver = true and " +
				"enable_weights_cpu_backup = true in args")
		}
	}
	return nil
}

// Sleep implements steps.Sleeper.
func (s sglang) Sleep(ctx context.Context, ep steps.Endpoint) error {
	return s.client.Move(ctx, ep, "/release_memory_occupation", struct{}{})
}

// Wake implements steps.Sleeper.
func (s sglang) Wake(ctx context.Context, ep steps.Endpoint) error {
	return s.client.Move(ctx, ep, "/resume_memory_occupation", struct{}{})
}
