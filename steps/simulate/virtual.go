package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// Virtual is a server's part in a fleet, from the command line that would start it.
type Virtual struct {
	Node model.Node
	// Startup is the time from its start until it serves.
	Startup time.Duration
	launch  *launch
}

// StartError is a server that ends while starting, with its exit status. The cause is in its log.
type StartError struct{ Status int }

func (e *StartError) Error() string {
	return fmt.Sprintf("the simulated server failed to start: exit status %d", e.Status)
}

// StartVirtual starts a server without a process, a socket or a wait. It reads the command line as
// the engine does, writes the lines of the start to the log, and returns the server's part in a
// Fleet. A *StartError means a server that fails to start; other errors mean a command line that
// cannot be simulated this way. Command lines for which [IsService] is true have no part in a
// fleet.
func (p Simulator) StartVirtual(argv []string, env func(string) string, log io.Writer) (*Virtual, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	if log == nil {
		log = io.Discard
	}
	l, err := p.read(argv, env, log)
	if err != nil {
		return nil, err
	}
	if err := l.fail.virtual(); err != nil {
		return nil, err
	}
	l.part = nodePlan{} // do not wait for nodes: their cost is in the model
	clock := &clock.Free{}
	s := newServer(l, Options{Env: env, Log: log, Clock: clock})
	if err := s.startIn(context.Background(), l.fail.portTaken); err != nil {
		return nil, &StartError{1}
	}
	l.engine.serving(s, s.address())
	return &Virtual{Node: l.node(), Startup: clock.Now(), launch: l}, nil
}

// IsService reports whether a command line starts a service that the simulator replaces, such as
// etcd, or a process other than the first of a multi-node server. In virtual time these do nothing.
func IsService(argv []string) bool {
	kind, _ := transfer.ServiceOf(argv)
	return kind != "" || isFollower(argv)
}

func (f Failures) portTaken() error {
	if f.PortInUse {
		return errStart
	}
	return nil
}

// node returns the server's part in a fleet.
func (l *launch) node() model.Node {
	n := model.Node{Config: l.config, Seed: l.settings.LaunchSeed}
	if l.kv == nil || l.kv.Exchange == kv.NoExchange {
		return n
	}
	p := l.transfer()
	n.Transfer = model.Transfer{Way: wayOf(p), Link: transfer.LinkOf(p, l.config.Profile.Net), Recompute: l.fail.Recompute}
	return n
}

// wayOf returns the way of this side's KV. Mooncake and SGLang write where NIXL reads, but begin
// when the decode server has room as well.
func wayOf(p *kv.Part) model.Way {
	switch p.Exchange {
	case kv.ByAnswer, kv.ByTransferID, kv.ByRoom:
		return model.Fetched
	case kv.LookupBuffer:
		return model.Blocking
	case kv.ByRequestID:
		return model.Pushed
	case kv.ByFile:
		return model.Stored
	case kv.FromNothing:
		return model.Given
	case kv.ByContent:
		if p.Peer == "" { // the receiver, to which others write
			return model.Delivered
		}
		return model.Stored
	}
	return model.Computed
}

// ReportsCached reports whether answers of an endpoint contain the number of cached tokens.
func (v *Virtual) ReportsCached(endpoint string) bool {
	return endpoint == "generate" || v.launch.cached
}

// EncodeChat returns the prompt that a server makes from a chat's messages, a JSON array.
func EncodeChat(messages json.RawMessage) ([]int, error) {
	var list []chatMessage
	if err := json.Unmarshal(messages, &list); err != nil {
		return nil, fmt.Errorf("messages of a chat: %w", err)
	}
	return chatPrompt(list)
}

// Say returns the server's answer to a prompt, in n tokens, with the log-probability of each.
func (v *Virtual) Say(prompt []int, n int) (ids []int, logprobs []float64) {
	voice := v.launch.config.Voice
	ids = voice.Say(prompt, n)
	context := append(make([]int, 0, len(prompt)+n), prompt...)
	for _, id := range ids {
		logprobs = append(logprobs, voice.Logprob(context))
		context = append(context, id)
	}
	return ids, logprobs
}
