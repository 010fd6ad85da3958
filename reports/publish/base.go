package publish

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/reports/result"
)

// Base is the part of a publisher that its service does not have. Service names it: "GitLab".
type Base struct{ Service string }

// Annotations implements Publisher.
func (Base) Annotations(*result.Document) []string { return nil }

// Clean implements Publisher: nothing is left in progress.
func (Base) Clean(context.Context) []string { return nil }

// Respond implements Publisher.
func (b Base) Respond(context.Context, string) (Response, error) {
	return Response{}, fmt.Errorf("commands in comments are carried out on GitHub only, and this is a job of %s", b.Service)
}

// Tracker implements Publisher.
func (b Base) Tracker(TrackerOptions) (Tracker, error) {
	return nil, fmt.Errorf("issues are kept on GitHub only, and this is a job of %s", b.Service)
}
