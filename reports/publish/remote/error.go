package remote

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Error is an unsuccessful answer of a service.
type Error struct {
	Service string // "GitHub"
	Op      string // "listing the comments"
	Code    int
	Message string // of the service
	// Wait is how long the service asks to wait before a retry, 0 if it does not.
	Wait time.Duration
}

// Error returns one line.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s answered %d %s", e.Op, e.Service, e.Code, e.Message)
}

// Refused reports whether err is an answer with one of the codes.
func Refused(err error, codes ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// Gone reports that what the request was about no longer exists.
func Gone(err error) bool { return Refused(err, http.StatusNotFound, http.StatusGone) }

// Uncertain reports that the request may have been executed although no answer came.
func Uncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return err != nil && (!ok || e.Code >= http.StatusInternalServerError)
}

// Permanent reports an answer that a retry cannot change: a missing permission, an invalid request.
// Rate limits, server errors and lost connections are temporary.
func Permanent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code < http.StatusInternalServerError && !e.Limited()
}

// Says reports whether the message contains a text.
func (e *Error) Says(text string) bool { return strings.Contains(strings.ToLower(e.Message), text) }

// Limited reports a rate limit.
func (e *Error) Limited() bool {
	return e.Code == http.StatusTooManyRequests || e.Says("rate limit")
}

// RetryWait returns how long the service asked to wait, 0 if it did not.
func RetryWait(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Wait
	}
	if e, ok := errors.AsType[*laterError](err); ok {
		return e.wait
	}
	return 0
}

// OneLine returns a message as one line of limited length.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > 300 {
		s = string(runes[:299]) + "…"
	}
	return s
}
