package result

// Evaluation lists the questions that the head of a comparison answers worse than its base, over
// the launches of both.
type Evaluation struct {
	Benchmark string `json:"benchmark"`          // address
	Base      string `json:"base"`               // hash of the base's cell
	Head      string `json:"head"`               // hash of the head's cell
	Questions int    `json:"questions"`          // asked on both sides
	Families  int    `json:"families,omitempty"` // of the questions; absent if each was drawn by itself
	Repeats   int    `json:"repeats"`            // with scored launches of both sides
	// Worse and Better count the questions with a lower and with a higher mean score of the head.
	Worse  int `json:"worse"`
	Better int `json:"better"`
	// Lost lists some questions with the largest loss of the head.
	Lost []LostQuestion `json:"lost,omitempty"`
}

// LostQuestion is a question with a lower score of the head.
type LostQuestion struct {
	ID string `json:"id"`
	// BaseScore and HeadScore are means over the repeats, 0 to 1.
	BaseScore float64 `json:"base_score"`
	HeadScore float64 `json:"head_score"`
}
