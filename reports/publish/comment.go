package publish

// CommentMode is what becomes of the comments of earlier runs on a pull request.
type CommentMode string

// The modes.
const (
	CommentUpdate       CommentMode = "update"         // one comment, edited
	CommentHideAndNew   CommentMode = "hide-and-new"   // a new one, the earlier are folded as outdated
	CommentDeleteAndNew CommentMode = "delete-and-new" // a new one, the earlier are deleted
	CommentNew          CommentMode = "new"            // a new one, the earlier stay
	CommentNever        CommentMode = "never"
)

// CommentModes lists them.
func CommentModes() []CommentMode {
	return []CommentMode{CommentUpdate, CommentHideAndNew, CommentDeleteAndNew, CommentNew, CommentNever}
}
