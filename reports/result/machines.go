package result

// Machines describes several machines that the repeats alternate between, with all sides of a
// repeat on one of them. Runs name theirs.
type Machines struct {
	Count int `json:"count" bounds:"2,"`
	// Between is the assumed standard deviation, between machines, of the effect of a change, as a
	// share. Decisions are then about all machines like these; without it they are about the mean
	// over these.
	Between float64 `json:"between,omitempty" bounds:"0,1"`
}
