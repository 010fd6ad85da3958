package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// suspension is the controller's record of the suspensions of a job.
type suspension struct {
	now    bool   // currently suspended
	last   string // time of the last suspension or resumption, "None" for never
	before string // seconds that it had run before
	ran    time.Duration
	seen   time.Time
}

// WatchPauses watches for suspensions. The controller records when a job was last suspended or resumed and how
// long it has run, so two queries show what happened in between. The first query runs in the background,
// because the start of the server is timed.
func (s *Server) WatchPauses(ctx context.Context) func(context.Context) (string, error) {
	job := s.launcher.job
	var old suspension
	var err error
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		first, cancel := context.WithTimeout(ctx, job.opt.CallWait)
		defer cancel()
		old, err = job.suspension(first)
	}()
	return func(ctx context.Context) (string, error) {
		select {
		case <-begun:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		now, nowErr := job.suspension(ctx)
		if nowErr != nil {
			return "", nowErr
		}
		before, unseen := old, err
		old, err = now, nil
		if unseen != nil {
			return "", unseen
		}
		return before.until(now, job.id), nil
	}
}

// until describes how the job was suspended between two queries, "" if it was not.
func (s suspension) until(now suspension, job string) string {
	switch {
	case now.now:
		return fmt.Sprintf("Slurm job %s is suspended", job)
	case !s.now && s.last == now.last && s.before == now.before:
		return ""
	}
	text := fmt.Sprintf("Slurm job %s was suspended and resumed", job)
	if lost := now.seen.Sub(s.seen) - (now.ran - s.ran); lost > time.Second {
		text += fmt.Sprintf(" (it did not run for about %s)", lost.Round(time.Second))
	}
	return text
}

// suspension queries the suspensions of the job.
func (j *Job) suspension(ctx context.Context) (suspension, error) {
	out, err := j.opt.call(ctx, "scontrol", "--oneliner", "show", "job", j.id)
	if err != nil {
		return suspension{}, err
	}
	s, err := parseSuspension(out)
	s.seen = time.Now()
	return s, err
}

func parseSuspension(text string) (suspension, error) {
	var s suspension
	state := ""
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "JobState":
			state = value
		case "SuspendTime":
			s.last = value
		case "SecsPreSuspend":
			s.before = value
		case "RunTime":
			s.ran, _ = parseLeft(value)
		}
	}
	if state == "" || s.last == "" {
		return suspension{}, errors.New("scontrol: the description of the job has no JobState or SuspendTime")
	}
	s.now = state == "SUSPENDED" || state == "STOPPED"
	return s, nil
}
