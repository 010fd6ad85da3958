package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
)

// writeApplied writes what other tools would apply for the compared sides, as a difference of the two.
func (a *app) writeApplied(ctx context.Context, p *plan.Plan) error {
	spawner := spawn.New(spawn.Options{Environ: a.Environ()})
	defer spawner.Close()
	opt := place.Options{Plan: p, Spawner: spawner, Environ: a.Environ(), Shown: true}
	doc := &result.Document{Sides: p.Sides}
	for _, t := range p.Targets {
		applied, err := a.applied(ctx, opt, t.Addr)
		if err != nil {
			return exit(exitInfrastructure, fmt.Errorf("%s: %w", t.Addr, err))
		}
		doc.Targets = append(doc.Targets, result.Target{Addr: t.Addr, Applied: applied})
	}
	var text strings.Builder
	for _, s := range doc.AppliedSides() {
		fmt.Fprintln(&text, term.Escape(s.Note()))
		lines, omitted := s.Diff()
		for _, line := range lines {
			fmt.Fprintln(&text, "  "+term.Escape(line))
		}
		if omitted > 0 {
			fmt.Fprintf(&text, "  and %d more lines\n", omitted)
		}
		fmt.Fprintln(&text)
	}
	_, err := fmt.Fprint(a.Out, text.String())
	return err
}

// applied renders what another tool would apply to start a target, nil if none does.
func (a *app) applied(ctx context.Context, opt place.Options, addr string) (*result.Applied, error) {
	server := opt.Plan.Config.ServerAt(addr)
	if server == nil || opt.Plan.Simulated != "" {
		return nil, nil
	}
	for _, kind := range a.places {
		if kind.Applied == nil {
			continue
		}
		applied, err := kind.Applied(ctx, opt, server.Spec)
		if err != nil {
			return nil, err
		}
		if applied != nil {
			return &result.Applied{Digest: applied.Digest, Text: applied.Text, Cut: applied.Cut}, nil
		}
	}
	return nil, nil
}
