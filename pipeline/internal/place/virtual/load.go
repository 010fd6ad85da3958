package virtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// load runs a workload once on the process at its URL.
func (v *machine) load(ctx context.Context, opt load.Options) (load.Result, error) {
	fleet, err := v.fleetAt(opt.BaseURL)
	if err != nil {
		return load.Result{}, err
	}
	if p := v.processAt(opt.BaseURL); p != nil && p.asleep {
		return load.Result{}, fmt.Errorf("%s in virtual time: %w", opt.BaseURL, errAsleep)
	}
	fleet.catchUp(v)
	var start time.Time
	begin := opt.Begin
	opt.Begin = func(ctx context.Context) {
		start = v.Now()
		if begin != nil {
			begin(ctx)
		}
	}
	opt.Files, opt.Arrivals = v.opt.Plan.Config.Files, v.opt.Plan.Config.Arrivals
	cached := fleet.front.ReportsCached(opt.Workload.Endpoint)
	got, err := load.Rehearse(ctx, opt, client{v, fleet, cached})
	got.Start = start
	return got, err
}

func addressOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	return u.Host, nil
}

// client adapts a fleet to load.Model.
type client struct {
	machine *machine
	fleet   *fleet
	// cached is true if responses report how much of their prompts was cached.
	cached bool
}

// embedded returns the token IDs of the text that prompts are made of.
var embedded = sync.OnceValue(func() []int { return model.Encode(dataset.Text()) })

// Tokenize implements load.Model.
func (client) Tokenize(text string) []int {
	if text == dataset.Text() {
		return embedded()
	}
	return model.Encode(text)
}

// TokenizeChat implements load.Model.
func (client) TokenizeChat(messages json.RawMessage) ([]int, error) {
	return simulate.EncodeChat(messages)
}

// Answer implements load.Model.
func (m client) Answer(prompt []int, n int) record.Answer {
	ids, logprobs := m.fleet.front.Say(prompt, n)
	a := record.Answer{Text: model.Decode(ids), Logprobs: logprobs}
	for _, id := range ids {
		a.Tokens = append(a.Tokens, model.Decode([]int{id}))
	}
	return a
}

// asked is the requested length of a response, and how it ends.
type asked struct {
	want   int
	finish string
}

// Serve implements load.Model.
func (m client) Serve(ctx context.Context, t load.ModelTraffic) error {
	inFlight := map[int]asked{}
	err := m.fleet.Serve(ctx, model.Traffic{
		Plan: t.Plan, Timeout: t.Timeout,
		Request: func(i int) (model.Arrival, error) {
			r, err := t.Request(i)
			if err != nil {
				return model.Arrival{}, err
			}
			n, finish := model.Answer(r.Prompt, r.Want, 0, r.IgnoreEOS)
			inFlight[i] = asked{r.Want, finish}
			return model.Arrival{Input: len(r.Prompt), Output: n, Prompt: r.Prompt}, nil
		},
		Ended: func(s model.Served) {
			t.Ended(m.record(s, inFlight[s.Index]))
			delete(inFlight, s.Index)
		},
	})
	m.machine.advanceTo(m.fleet.began.Add(m.fleet.Now()))
	return err
}

// record records a response as the load generator does.
func (m client) record(s model.Served, a asked) record.Request {
	q := record.Request{
		Index: s.Index, Planned: int64(s.Planned), Sent: int64(s.Sent), Headers: -1, Done: int64(s.Done), PromptTokens: s.Input,
		WantTokens: a.want, OutputTokens: len(s.Tokens), CachedTokens: -1, Status: 200, Finish: a.finish,
		Events: make([]record.Event, 0, len(s.Tokens)),
	}
	for j, at := range s.Tokens {
		if j > 0 && at == s.Tokens[j-1] { // a step that verified drafts produced several tokens
			q.Events[len(q.Events)-1].Tokens = j + 1
			continue
		}
		q.Events = append(q.Events, record.Event{At: int64(at), Tokens: j + 1})
	}
	if len(s.Tokens) > 0 {
		q.Headers = int64(s.Tokens[0])
	}
	if m.cached {
		q.CachedTokens = s.Cached
	}
	switch {
	case s.Err == nil:
		return q
	case errors.Is(s.Err, model.ErrRequestTimeout):
		q.Failure = record.FailTimeout
	default:
		q.Status, q.Failure = 400, record.FailStatus
	}
	q.Finish, q.Error = "", fmt.Sprintf("in virtual time: %v", s.Err)
	return q
}
