package github

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Error is an answer of GitHub that is no success.
type Error struct {
	Op      string // "listing the comments"
	Code    int
	Message string // as GitHub says it
	// Wait is how long GitHub asks to wait before the next try, 0 if it does not say.
	Wait time.Duration
}

// Error is one line.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: GitHub answered %d %s", e.Op, e.Code, e.Message)
}

// refused reports whether err is an answer with one of the codes.
func refused(err error, codes ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// gone reports that there is no such comment any more.
func gone(err error) bool { return refused(err, http.StatusNotFound, http.StatusGone) }

// tooLong reports that a body is beyond what GitHub takes.
func tooLong(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == http.StatusUnprocessableEntity && e.says("too long")
}

// uncertain reports that something may have been done although no answer came.
func uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return err != nil && (!ok || e.Code >= http.StatusInternalServerError)
}

// permanent reports an answer that will be the same the next time: a permission that is
// missing, a request that is not accepted. A rate limit, a fault of the server and a lost
// connection pass.
func permanent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code < http.StatusInternalServerError && !e.limited()
}

// says reports whether a text is in the message.
func (e *Error) says(text string) bool { return strings.Contains(strings.ToLower(e.Message), text) }

// limited reports that too many requests were made.
func (e *Error) limited() bool {
	return e.Code == http.StatusTooManyRequests || e.says("rate limit")
}

// retryWait is how long GitHub asked to wait, 0 if it did not.
func retryWait(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Wait
	}
	if e, ok := errors.AsType[*laterError](err); ok {
		return e.wait
	}
	return 0
}

// advice is what to do about an error, "" if there is nothing to say: a missing permission
// names the line of the workflow that grants it.
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

// warning is one line about something that was not done.
func warning(what string, err error, permission string) string {
	text := what + ": " + err.Error()
	if a := advice(err, permission); a != "" {
		text += "; " + a
	}
	return text
}
