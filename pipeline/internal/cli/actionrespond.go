package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/github"
)

// actionRespond carries out the command in the comment of the event. A command without
// the right to it, or in vain, fails no job: anybody can write comments.
func (a *app) actionRespond(ctx context.Context) error {
	ev, api, err := a.github()
	if err != nil {
		return err
	}
	r := &github.Responder{API: api, Event: ev, Workflow: cmp.Or(a.input("WORKFLOW"), "performance-pull-request.yml"), Mask: a.redact.String}
	did, err := r.Respond(ctx)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	if did.Refused != "" {
		a.warn("not carried out: " + did.Refused)
		return nil
	}
	_, err = fmt.Fprintln(a.Out, escape.Text(did.Done, 1000))
	return err
}
