package result

// RunRequests counts what the measured requests of a run asked and how they were answered. All
// counts but Resent only include successful requests.
type RunRequests struct {
	PromptTokens int `json:"prompt_tokens"` // by the server's usage
	OutputTokens int `json:"output_tokens"` // by the server's usage
	Events       int `json:"events"`        // stream events with tokens
	// Gathered counts the events that arrived at the time of an earlier one of their answer.
	Gathered int `json:"gathered,omitempty" bounds:"0,"`
	// Characters that are visible, in all answers, or the numbers of vectors and rankings; absent if
	// the answers are unknown.
	Characters int `json:"characters,omitempty"`
	// Reasoning is the number of those that servers sent as reasoning.
	Reasoning int `json:"reasoning,omitempty" bounds:"0,"`
	// Finish counts the requests by finish reason.
	Finish map[string]int `json:"finish,omitempty"`
	// Blank counts the requests whose first event with a token had no visible text. The time to
	// first token then ends at the first event with visible text.
	Blank int `json:"blank,omitempty"`
	// Resent counts the requests that were sent again because an idle connection was closed without
	// an answer. The comparison of success rates counts them as failed.
	Resent int `json:"resent,omitempty"`
	// Tail is the mean time from the last event with a token to the end of the response, in seconds.
	// E2EL does not include it.
	Tail float64 `json:"tail_s,omitempty" bounds:"0,"`
	// Warmup describes the requests before the measured ones; absent without a warm-up.
	Warmup *Warmup `json:"warmup,omitempty"`
	// Digest of the single requests. It is only in a journal: see package comparability.
	Digest string `json:"digest,omitempty"`
}

// Warmup describes the requests that a run sent before it measured.
type Warmup struct {
	Sent   int `json:"sent" bounds:"0,"`
	Failed int `json:"failed,omitempty" bounds:"0,"`
	// Mean is the mean E2EL of those that succeeded, in seconds.
	Mean float64 `json:"mean_s,omitempty" bounds:"0,"`
}

// ComparedRequests compares the measured requests of two cells, request by request, for the prompts
// that both sides answered.
type ComparedRequests struct {
	Benchmark string `json:"benchmark"` // address
	Base      string `json:"base"`      // hash of the base's cell
	Head      string `json:"head"`      // hash of the head's cell
	// Pairs of compared runs.
	Pairs []PairedRequests `json:"pairs"`
	// Differences that were found.
	Differences []RequestDifference `json:"differences,omitempty"`
}

// PairedRequests compares the requests of one pass of a repeat.
type PairedRequests struct {
	Repeat   int `json:"repeat"`
	Pass     int `json:"pass,omitempty"`
	Requests int `json:"requests"` // answered on both sides
	// OtherPrompts counts the requests whose number of prompt tokens differs.
	OtherPrompts int `json:"other_prompts,omitempty"`
	// Texts counts the greedy answers whose texts are known on both sides, AlikeBegin those with
	// equal beginnings, and Equal those that are equal as a whole.
	Texts      int `json:"texts,omitempty"`
	AlikeBegin int `json:"alike_begin,omitempty"`
	Equal      int `json:"equal,omitempty"`
}

// RequestDifference is a difference in the requests or answers of the sides.
type RequestDifference struct {
	What DifferentRequests `json:"what"`
	// Repeat is the first repeat that shows the difference.
	Repeat int `json:"repeat"`
	// Base and Head are the two values: tokens of a request, characters of a token, tokens of an
	// event, seconds, or a share of requests, events or characters.
	Base float64 `json:"base"`
	Head float64 `json:"head"`
	Text string  `json:"text"` // in words
	// Shown is true if the sides can still be compared in spite of the difference.
	Shown bool `json:"shown,omitempty"`
}
