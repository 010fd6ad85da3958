package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/servegate/pipeline/reports/publish/note"
	"github.com/servegate/pipeline/reports/publish/remote"
)

// conversation is the conversation of a pull request.
type conversation struct {
	api    *Client
	number int
}

// Comments implements note.Conversation.
func (c conversation) Comments(ctx context.Context) ([]note.Comment, error) {
	return c.api.Comments(ctx, c.number)
}

// Create implements note.Conversation.
func (c conversation) Create(ctx context.Context, body string) (note.Comment, error) {
	return c.api.CreateComment(ctx, c.number, body)
}

// Edit implements note.Conversation.
func (c conversation) Edit(ctx context.Context, id int64, body string) (note.Comment, error) {
	return c.api.EditComment(ctx, id, body)
}

// Delete implements note.Conversation.
func (c conversation) Delete(ctx context.Context, id int64) error {
	return c.api.DeleteComment(ctx, id)
}

// Hide implements note.Conversation.
func (c conversation) Hide(ctx context.Context, one note.Comment) error {
	return c.api.HideComment(ctx, one.NodeID)
}

// TooLong implements note.Conversation.
func (conversation) TooLong(err error) bool { return tooLong(err) }

// tooLong reports that a body is longer than GitHub accepts.
func tooLong(err error) bool {
	e, ok := errors.AsType[*remote.Error](err)
	return ok && e.Code == http.StatusUnprocessableEntity && e.Says("too long")
}

// wroteAs reports whether an account is the one of the token. If GitHub does not return the viewer,
// any bot counts: unlike a user, a bot writes only after a maintainer has installed it.
func wroteAs(viewer, login string, bot bool) bool {
	if viewer == "" {
		return bot
	}
	return strings.EqualFold(login, viewer) && bot == strings.HasSuffix(viewer, "[bot]")
}
