// Package mode names what becomes of the comments of earlier runs.
package mode

// Comment is a mode of commenting on a pull request.
type Comment string

// The modes.
const (
	Update       Comment = "update"         // one comment, edited
	HideAndNew   Comment = "hide-and-new"   // a new one, the earlier are folded as outdated
	DeleteAndNew Comment = "delete-and-new" // a new one, the earlier are deleted
	New          Comment = "new"            // a new one, the earlier stay
	Never        Comment = "never"
)

// All lists them.
func All() []Comment { return []Comment{Update, HideAndNew, DeleteAndNew, New, Never} }
