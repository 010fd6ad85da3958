package github

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Error is an unsuccessful answer of GitHub.
type Error struct {
	Op      string // "listing the comments"
	Code    int
	Message string // of GitHub
	// Wait is how long GitHub asks to wait before a retry, 0 if it does not.
	Wait time.Duration
}

// Error returns one line.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: GitHub answered %d %s", e.Op, e.Code, e.Message)
}

// refused reports whether err is an answer with one of the codes.
func refused(err error, codes ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// gone reports that the comment no longer exists.
func gone(err error) bool { return refused(err, http.StatusNotFound, http.StatusGone) }

// tooLong reports that a body is longer than GitHub accepts.
func tooLong(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == http.StatusUnprocessableEntity && e.says("too long")
}

// uncertain reports that the request may have been executed although no answer came.
func uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return err != nil && (!ok || e.Code >= http.StatusInternalServerError)
}

// permanent reports an answer that a retry cannot change: a missing permission, an invalid request.
// Rate limits, server errors and lost connections are temporary.
func permanent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code < http.StatusInternalServerError && !e.limited()
}

// says reports whether the message contains a text.
func (e *Error) says(text string) bool { return strings.Contains(strings.ToLower(e.Message), text) }

// limited reports a rate limit.
func (e *Error) limited() bool {
	return e.Code == http.StatusTooManyRequests || e.says("rate limit")
}

// retryWait returns how long GitHub asked to wait, 0 if it did not.
func retryWait(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Wait
	}
	if e, ok := errors.AsType[*laterError](err); ok {
		return e.wait
	}
	return 0
}

// advice returns what to do about an error, "" if unknown. For a missing permission it names the
// line of the workflow that grants it.
func advice(err error, permission string) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	switch {
	case e.says("locked"):
		return "the conversation is locked; unlock it or read the report in the run's summary"
	case e.Code == http.StatusUnauthorized:
		return "the token is not valid (any more); pass github-token: ${{ github.token }}"
	case e.limited():
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
