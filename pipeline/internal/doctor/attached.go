package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/steps"
)

// pollTimeout is the timeout for polling one running server.
const pollTimeout = 10 * time.Second

// ExamineAttached checks whether the servers with a url serve, using the key of requests. It generates nothing.
func ExamineAttached(ctx context.Context, cfg *config.Config, engines map[string]steps.Engine) []Check {
	var out []Check
	for _, s := range cfg.Servers {
		if s.Spec.URL == "" || s.Late || engines[s.Kind.Name] == nil {
			continue
		}
		out = append(out, examineAttached(ctx, s, engines[s.Kind.Name]))
	}
	return out
}

func examineAttached(ctx context.Context, s *config.Server, e steps.Engine) Check {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	ep := steps.Endpoint{BaseURL: strings.TrimRight(s.Spec.URL, "/"), Model: s.Spec.Model}
	if s.Spec.ServedName != "" {
		ep.Model = s.Spec.ServedName
	}
	if s.Spec.APIKey != "" {
		ep.Headers = map[string]string{"Authorization": "Bearer " + s.Spec.APIKey}
	}
	readiness := s.Spec.Readiness()
	readiness.NoCanary = true
	state, ready, err := e.Ready(ctx, ep, readiness)
	c := Check{Name: s.Addr, Status: OK, Found: "answers at " + s.Spec.URL}
	if ready {
		return c
	}
	c.Status, c.Found = Missing, fmt.Sprintf("%s: %s", s.Spec.URL, state)
	if err != nil {
		c.Found += ": " + escape.Text(err.Error(), 400)
	}
	c.Fix = "start it, or mend url"
	if _, ok := errors.AsType[*steps.RefusedError](err); ok {
		c.Fix = "it answers, but not as such a server does: look at url, api_key and served_name"
	}
	return c
}
