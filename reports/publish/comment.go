package publish

// CommentMode defines what happens to the comments of earlier runs on a pull request.
type CommentMode string

// The modes.
const (
	CommentUpdate       CommentMode = "update"         // one comment, edited
	CommentHideAndNew   CommentMode = "hide-and-new"   // a new one, earlier ones are folded as outdated
	CommentDeleteAndNew CommentMode = "delete-and-new" // a new one, earlier ones are deleted
	CommentNew          CommentMode = "new"            // a new one, earlier ones stay
	CommentNever        CommentMode = "never"
)

// CommentModes returns all modes.
func CommentModes() []CommentMode {
	return []CommentMode{CommentUpdate, CommentHideAndNew, CommentDeleteAndNew, CommentNew, CommentNever}
}

// When defines which results a service is told of.
type When string

// The results.
const (
	WhenAlways When = "always"
	WhenFails  When = "fails" // the run exits with a status above 0
)
