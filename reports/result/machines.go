package result

// Machines are those that repeats took in turn, each with all its sides on one of them. Runs name theirs.
type Machines struct {
	Count int `json:"count" bounds:"2,"`
	// Between is how much what a change does was taken to differ from machine to machine, as the standard
	// deviation of a share: decisions are then about all machines like these. Absent where they are about
	// the mean over these.
	Between float64 `json:"between,omitempty" bounds:"0,1"`
}
