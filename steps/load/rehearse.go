package load

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/traffic"
)

// Model answers requests in virtual time, without a network. It models servers only, without the delays of a
// client, a network and a machine.
type Model interface {
	// Tokenize is the model's tokenizer, and TokenizeChat the tokenizer for the messages of a chat, a JSON
	// array.
	Tokenize(text string) []int
	TokenizeChat(messages json.RawMessage) ([]int, error)
	// Answer returns the answer to a prompt, in n tokens.
	Answer(prompt []int, n int) record.Answer
	// Serve answers all requests of a run and returns when the last answer is complete, in the model's time.
	Serve(ctx context.Context, t ModelTraffic) error
}

// ModelTraffic describes the requests for a [Model].
type ModelTraffic struct {
	traffic.Plan
	// Request returns the prompt of an index as token IDs.
	Request func(i int) (ModelRequest, error)
	// Ended is called with the record of each request when it ends.
	Ended func(record.Request)
	// Timeout limits a single request, 0 for no limit.
	Timeout time.Duration
}

// ModelRequest is one request for a [Model].
type ModelRequest struct {
	Prompt []int
	// Want is the number of requested tokens; with IgnoreEOS the answer has them all.
	Want      int
	IgnoreEOS bool
}

// Rehearse is Run with a model in place of a server: the same prompts at the same planned times, and records
// of the same form with the model's times. The audit holds only figures that follow from the schedule,
// because there is no client that could be late. It ignores options for reaching a server. The result's Start
// is zero.
func Rehearse(ctx context.Context, opt Options, m Model) (Result, error) {
	d, err := draw(ctx, opt, m)
	if err != nil {
		return Result{}, err
	}
	d.hashed.Go(d.drawAll) // while the model serves
	defer d.hashed.Wait()
	var got Result
	if opt.Workload.Warmup > 0 {
		seeds := d.seeds
		seeds.Content ^= warmupContent
		var warmup record.List
		t := ModelTraffic{Plan: warmupPlan(opt.Workload), Request: d.request(seeds), Timeout: opt.Workload.RequestTimeout,
			Ended: warmup.Add}
		if err = m.Serve(ctx, t); err != nil {
			return got, fmt.Errorf("load: stopped in the warm-up: %w", err)
		}
		got.Warmup = warmup.Sorted()
	}
	if opt.Begin != nil {
		opt.Begin(ctx)
	}
	got.Run, err = d.serve(ctx, m)
	return got, err
}

// drawn holds the work of a run before it is sent.
type drawn struct {
	opt      Options
	model    Model
	src      dataset.Source
	seeds    dataset.Seeds
	schedule []time.Duration
	sessions *sessions
	// prompts counts the prompts that identify the run. drawAll sets their hash and the hash of each, which can be read once
	// hashed is done.
	prompts int
	hash    string
	asked   []uint32
	hashed  sync.WaitGroup

	// The first prompts are kept, others are drawn again whenever they are needed: those of a million requests would take
	// gigabytes. All that will be kept are once full is set.
	mu     sync.Mutex
	more   sync.Cond // kept or full has changed
	kept   []dataset.Prompt
	tokens int
	full   bool
}

func draw(ctx context.Context, opt Options, m Model) (*drawn, error) {
	e, err := checkWorkload(opt)
	if err != nil {
		return nil, err
	}
	if e.pooled() {
		return nil, steps.Unsupported("", opt.Workload.Endpoint+" cannot be rehearsed: a model of answers has no tokens for it")
	}
	if dataset.RealAnswers(opt.Workload.Dataset) {
		return nil, steps.Unsupported("",
			"conversations with real_answers cannot be rehearsed: a model of answers has no words; leave real_answers out, or run with --simulate")
	}
	d := &drawn{opt: opt, model: m, seeds: opt.seeds()}
	d.more.L = &d.mu
	d.src, err = source(ctx, opt, corpusOf(e, m.Tokenize(dataset.Text())), func(_ context.Context, texts []string) ([][]int, error) {
		out := make([][]int, len(texts))
		for i, text := range texts {
			out[i] = m.Tokenize(text)
		}
		return out, nil
	})
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	var n int
	if d.schedule, n, err = scheduleOf(opt, d.src); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if d.sessions, err = newSessions(d.src, opt.Workload.Load, n); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if d.prompts = n; n == 0 {
		d.prompts = hashedPrompts
	}
	return d, nil
}

// drawAll draws the prompts that identify the run, in their order, keeps the first ones and hashes all.
func (d *drawn) drawAll() {
	d.hash, d.asked = dataset.Hash(d.prompts, func(i int) dataset.Prompt {
		p := d.src.Prompt(i, d.seeds)
		d.keep(p)
		return p
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = true
	d.more.Broadcast()
}

// keep keeps the next prompt if there is room.
func (d *drawn) keep(p dataset.Prompt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full = d.tokens >= keptTokens; !d.full {
		d.tokens += max(len(p.IDs), len(p.Text), len(p.Messages)) + promptTokens
		d.kept = append(d.kept, p)
	}
	d.more.Broadcast()
}

// keptTokens is the number of tokens of prompts, or of bytes of their text, that a rehearsal keeps. Each prompt counts as
// promptTokens more, which is the memory of its fields.
const (
	keptTokens   = 1 << 20
	promptTokens = 16
)

// prompt returns prompt i of the measured requests, and waits for it if it will be kept.
func (d *drawn) prompt(i int) dataset.Prompt {
	d.mu.Lock()
	for i >= len(d.kept) && !d.full {
		d.more.Wait()
	}
	kept := d.kept
	d.mu.Unlock()
	if i < len(kept) {
		return kept[i]
	}
	return d.src.Prompt(i, d.seeds)
}

// request returns a function that makes the requests of the run, or with other seeds those of the warm-up.
func (d *drawn) request(seeds dataset.Seeds) func(i int) (ModelRequest, error) {
	return func(i int) (ModelRequest, error) {
		var p dataset.Prompt
		if seeds == d.seeds {
			p = d.prompt(i)
		} else {
			p = d.src.Prompt(i, seeds)
		}
		ids := p.IDs
		switch {
		case p.Messages != nil:
			var err error
			if ids, err = d.model.TokenizeChat(p.Messages); err != nil {
				return ModelRequest{}, fmt.Errorf("load: request %d: %w", i, err)
			}
		case !p.Exact() && d.opt.Workload.Endpoint == "chat":
			raw, err := json.Marshal([]map[string]string{{"role": "user", "content": p.Text}})
			if err == nil {
				ids, err = d.model.TokenizeChat(raw)
			}
			if err != nil {
				return ModelRequest{}, fmt.Errorf("load: request %d: %w", i, err)
			}
		case !p.Exact():
			ids = d.model.Tokenize(p.Text)
		}
		return ModelRequest{Prompt: ids, Want: p.Output, IgnoreEOS: d.opt.Workload.IgnoreEOS}, nil
	}
}

// serve lets the model serve the measured requests.
func (d *drawn) serve(ctx context.Context, m Model) (record.Run, error) {
	var requests record.List
	var unanswered error
	plan := planOf(d.opt.Workload.Load, d.schedule, d.sessions)
	t := ModelTraffic{Plan: plan, Request: d.request(d.seeds), Timeout: d.opt.Workload.RequestTimeout}
	t.Ended = func(r record.Request) {
		if d.opt.Workload.Answers != nil && r.Failure == "" {
			unanswered = cmp.Or(unanswered, d.answer(&r, m, t.Request))
		}
		requests.Add(r)
	}
	if err := m.Serve(ctx, t); err != nil {
		return record.Run{}, fmt.Errorf("load: stopped: %w", err)
	}
	if unanswered != nil {
		return record.Run{}, unanswered
	}
	run := record.Run{Requests: requests.Sorted(), Goodput: d.opt.Workload.Goodput, Audit: record.Audit{Clock: "virtual"}}
	requests = record.List{}
	d.hashed.Wait()
	run.Requests.Edit(func(r *record.Request) {
		if r.Index < len(d.asked) {
			r.Asked = d.asked[r.Index]
		}
	})
	d.sessions.number(&run.Requests)
	conclude(&run, plannedTimes(plan), d.hash)
	run.Audit.RealisedRate = run.Audit.PlannedRate
	return run, nil
}

// answer adds the answer to a request.
func (d *drawn) answer(r *record.Request, m Model, ask func(i int) (ModelRequest, error)) error {
	made, err := ask(r.Index)
	if err != nil {
		return err
	}
	a := m.Answer(made.Prompt, r.OutputTokens)
	a.Ended = r.Finish == "stop"
	if r.Index < d.prompts {
		a.Ask = asked(d.prompt(r.Index))
	}
	if !d.opt.Workload.Answers.Logprobs {
		a.Tokens, a.Logprobs = nil, nil
	}
	r.Answer = &a
	return nil
}
