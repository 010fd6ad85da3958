package github

import (
	"errors"
	"net/http"

	"github.com/servegate/pipeline/reports/publish/remote"
)

// Error is an unsuccessful answer of GitHub.
type Error = remote.Error

// Clock tells the time and waits.
type Clock = remote.Clock

// advice returns what to do about an error, "" if unknown. For a missing permission it names the
// line of the workflow that grants it.
func advice(err error, permission string) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	switch {
	case e.Says("locked"):
		return "the conversation is locked; unlock it or read the report in the run's summary"
	case e.Code == http.StatusUnauthorized:
		return "the token is not valid (any more); pass github-token: ${{ github.token }}"
	case e.Limited():
		return "too many requests were made with this token; give each matrix leg less to post, or post from one job"
	case e.Code == http.StatusForbidden || e.Code == http.StatusNotFound:
		return "the token may lack a permission: add `" + permission + ": write` to `permissions:` of the job" +
			" (a pull request from a fork never gets it: post from a workflow_run job with `pipeline comment`)"
	}
	return ""
}

// warning returns one line about a failed part.
func warning(what string, err error, permission string) string {
	text := what + ": " + err.Error()
	if a := advice(err, permission); a != "" {
		text += "; " + a
	}
	return text
}
