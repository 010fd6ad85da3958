package result

// RunRequests counts what the measured requests of a run were asked and how they were answered. Apart
// from Resent the counts are those of the requests that succeeded.
type RunRequests struct {
	PromptTokens int `json:"prompt_tokens"` // by the server's usage
	OutputTokens int `json:"output_tokens"` // by the server's usage
	Events       int `json:"events"`        // stream events that brought tokens
	// Characters that are visible, in all answers; absent where the texts are not known.
	Characters int `json:"characters,omitempty"`
	// Finish counts the requests by finish reason.
	Finish map[string]int `json:"finish,omitempty"`
	// Blank counts the requests whose first event with a token had no visible text. The time to
	// first token goes to the first event that has some.
	Blank int `json:"blank,omitempty"`
	// Resent counts the requests that were sent again because a connection that had been idle was
	// closed without an answer. The comparison of success rates counts them as failed.
	Resent int `json:"resent,omitempty"`
	// Digest of the single requests, which is in a journal only: see package comparability.
	Digest string `json:"digest,omitempty"`
}

// ComparedRequests are the measured requests of two cells set against each other, request by request: the
// same prompts, which both sides answered.
type ComparedRequests struct {
	Benchmark string `json:"benchmark"` // address
	Base      string `json:"base"`      // hash of the base's cell
	Head      string `json:"head"`      // hash of the head's cell
	// Pairs of runs that were compared.
	Pairs []PairedRequests `json:"pairs"`
	// Differences that were found.
	Differences []RequestDifference `json:"differences,omitempty"`
}

// PairedRequests are the requests of one pass of a repeat.
type PairedRequests struct {
	Repeat   int `json:"repeat"`
	Pass     int `json:"pass,omitempty"`
	Requests int `json:"requests"` // that both sides answered
	// OtherPrompts counts the requests whose number of prompt tokens differs.
	OtherPrompts int `json:"other_prompts,omitempty"`
	// Texts counts the greedy answers whose texts are known on both sides, AlikeBegin those that
	// begin alike, and Equal those that are equal as a whole.
	Texts      int `json:"texts,omitempty"`
	AlikeBegin int `json:"alike_begin,omitempty"`
	Equal      int `json:"equal,omitempty"`
}

// RequestDifference is a difference in what the sides were asked or answered.
type RequestDifference struct {
	What DifferentRequests `json:"what"`
	// Repeat from which on it was seen.
	Repeat int `json:"repeat"`
	// Base and Head are the two values: tokens of a request, characters of a token, tokens of an
	// event, or a share of the requests.
	Base float64 `json:"base"`
	Head float64 `json:"head"`
	Text string  `json:"text"` // in words
	// Shown differences do not keep the sides from being compared.
	Shown bool `json:"shown,omitempty"`
}
