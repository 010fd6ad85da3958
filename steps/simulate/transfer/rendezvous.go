package transfer

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// ErrRendezvous means that the peer did not come while this server started.
var ErrRendezvous = errors.New("torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/2 clients joined")

// AwaitPeer waits for the peer where both have to be there before either serves: PyNccl's
// process group. It needs no connection of the other connectors.
func (k *Side) AwaitPeer(ctx context.Context) error {
	if k == nil || !k.plan.Play.Rendezvous {
		return nil
	}
	const patience = 301 * time.Second
	deadline := k.clock.Now() + patience
	if k.plan.Produces {
		patient, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			_ = k.clock.SleepUntil(patient, deadline) // ended by cancel at the latest
			cancel()
		}()
		select {
		case <-k.joined:
			return nil
		case <-patient.Done():
			return cmp.Or(ctx.Err(), ErrRendezvous)
		}
	}
	for k.clock.Now() < deadline {
		conn, err := k.dial(ctx, k.plan.Peer, "")
		if err == nil {
			conn.release()
			return nil
		}
		if err := k.clock.SleepUntil(ctx, k.clock.Now()+100*time.Millisecond); err != nil {
			return err
		}
	}
	return ErrRendezvous
}
