package load

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
)

// talk keeps what the server said in conversations whose turns repeat it. A turn waits for
// the answer before it, in an open loop as well: the wait is queue and not lag, as that for
// a free slot is. What follows the last byte of the answer is lag. After a turn that failed
// the conversation goes on with a made-up answer, so that the load stays what was planned.
type talk struct {
	src dataset.Dialogue

	mu      sync.Mutex
	endings map[int]*ending // by request
}

// ending is the end of a request.
type ending struct {
	done chan struct{}
	said json.RawMessage // once done; nil if it failed
	at   time.Time       // once done: of the last byte
}

func newTalk(src dataset.Source) *talk {
	d, ok := src.(dataset.Dialogue)
	if !ok {
		return nil
	}
	return &talk{src: d, endings: map[int]*ending{}}
}

func (t *talk) ending(i int) *ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.endings[i]
	if r == nil {
		r = &ending{done: make(chan struct{})}
		t.endings[i] = r
	}
	return r
}

// end notes what the server said to request i until at, and lets the next turn go. What no
// turn needs any longer is forgotten.
func (t *talk) end(i int, said json.RawMessage, at time.Time) {
	r := t.ending(i)
	r.said, r.at = said, at
	close(r.done)
	conversation, turn := t.src.Turn(i)
	if turn+1 < t.src.Turns() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.src.Turns() {
		delete(t.endings, t.src.Request(conversation, k))
	}
}

// answers waits for the answers to all turns before request i, the last of which came at
// the given time; a first turn has none. ok is false if ctx is done first.
func (t *talk) answers(ctx context.Context, i int) (said []json.RawMessage, at time.Time, ok bool) {
	conversation, turn := t.src.Turn(i)
	for k := range turn {
		r := t.ending(t.src.Request(conversation, k))
		select {
		case <-r.done:
			said, at = append(said, r.said), r.at
		case <-ctx.Done():
			return nil, at, false
		}
	}
	return said, at, ctx.Err() == nil // answers end with the run, too
}

// continues reports whether the prompt of request i repeats answers of the server.
func (r *runner) continues(i int) bool {
	switch {
	case r.order != nil:
		return len(r.order.src.Answers(i)) > 0
	case r.talk != nil:
		_, turn := r.talk.src.Turn(i)
		return turn > 0
	}
	return false
}

// continuer makes prompts that repeat answers.
type continuer interface {
	Continue(i int, s dataset.Seeds, answers []json.RawMessage) dataset.Prompt
}

// next is the prompt of request i of the run and its bytes. In a conversation with real
// answers it is due when the answer before it has come, if that is later, so that the time
// to render what repeats it is the client's lag. ok is false if ctx is done first.
func (r *runner) next(ctx context.Context, i int, due time.Time) (p dataset.Prompt, wire []byte, at time.Time, ok bool, err error) {
	var said []json.RawMessage
	var src continuer
	switch {
	case r.order != nil:
		src, said = r.order.src, r.order.answers(i)
	case r.talk != nil:
		var answered time.Time
		src = r.talk.src
		if said, answered, ok = r.talk.answers(ctx, i); !ok {
			return p, nil, due, false, nil
		}
		due = later(due, answered)
	}
	if len(said) == 0 { // repeats no answer, so it was rendered before the run
		p, wire, err = r.work.get(i)
		return p, wire, due, true, err
	}
	p = src.Continue(i, r.work.seeds, said)
	wire, err = r.work.encode(i, p)
	return p, wire, due, true, err
}

// conversations is the closed loop of a dialogue: each user has one conversation after the
// other, turn by turn.
func (r *runner) conversations(ctx context.Context) {
	l := r.opt.Workload.Load
	src := r.talk.src
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next int
	)
	open := func(i int) bool {
		return ctx.Err() == nil && (l.Requests == 0 || i < l.Requests) && (l.Duration == 0 || time.Since(r.t0) < r.wall(l.Duration))
	}
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for range l.MaxConcurrency {
		wg.Go(func() {
			for c := take(); open(src.Request(c, 0)); c = take() {
				for turn := 0; turn < src.Turns() && open(src.Request(c, turn)); turn++ {
					r.send(ctx, src.Request(c, turn), -1, time.Now(), nil)
					if l.ThinkTime > 0 && !sleepUntil(ctx, time.Now().Add(r.wall(l.ThinkTime))) {
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
