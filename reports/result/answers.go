package result

// RunAnswers summarizes the answers that a run of an answers block collected.
type RunAnswers struct {
	Prompts int `json:"prompts"` // answered prompts
	Tokens  int `json:"tokens"`  // total over all answers
	// Form in which answers were requested.
	Form AnswerForm `json:"form"`
	// Logprobs is true if every token has a log-probability.
	Logprobs bool `json:"logprobs,omitempty"`
	// Digest of the answers. It is only in a journal: see package answers. The texts are in the
	// records.
	Digest string `json:"digest,omitempty"`
}

// Answers compares the answers of two cells. Each answer of a launch is compared with the closest
// one that the base's other launches gave to the prompt.
type Answers struct {
	Benchmark string `json:"benchmark"` // address of the answers block
	Base      string `json:"base"`      // hash of the base's cell
	Head      string `json:"head"`      // hash of the head's cell
	Prompts   int    `json:"prompts"`   // sent in each launch
	// Form in which answers were requested; absent if nothing was answered.
	Form AnswerForm `json:"form,omitempty"`
	// Answered counts the prompts with comparable answers of launches of both sides.
	Answered int    `json:"answered"`
	Reason   string `json:"reason,omitempty"` // why nothing can be compared
	// Compared holds the values by metric and by last included repeat.
	Compared []ComparedAnswers `json:"compared,omitempty"`
	// Divergences lists some prompts to which the head gave an answer that no launch of the base
	// gave, the earliest first.
	Divergences []Divergence `json:"divergences,omitempty"`
}

// ComparedAnswers holds the values of one metric of answers after some repeats. Every value
// compares a launch with all other launches of the base so far, so that each repeat changes all of
// them.
type ComparedAnswers struct {
	Metric string `json:"metric"` // id
	Until  int    `json:"until"`  // the last included repeat
	// Pairs of the repeats. Base is the value of the base's launch, which is the noise floor; Head
	// that of the head's launch.
	Pairs []Pair `json:"pairs"`
	// ErrorOfPrompts is the standard error of the mean difference from the spread of the prompts,
	// with PromptsDF degrees of freedom; absent if no prompt differs.
	ErrorOfPrompts float64 `json:"error_of_prompts,omitempty" bounds:"0,"`
	PromptsDF      float64 `json:"prompts_df,omitempty" bounds:"0,"`
}

// Divergence is a prompt that the head answers differently from every launch of the base.
type Divergence struct {
	Prompt int `json:"prompt"` // number of the request, from 0
	// Repeat of the head's launch; Against is the repeat of the closest launch of the base.
	Repeat  int `json:"repeat"`
	Against int `json:"against"`
	Token   int `json:"token"` // first token that differs, from 0
	// Heads counts the launches of the head that diverge anywhere in this answer, Bases those of
	// the base that diverge from the base's others.
	Heads int `json:"heads"`
	Bases int `json:"bases"`
	// Ask is the end of the prompt if it is a text. BaseText and HeadText are the answers around
	// the token. Secrets are masked.
	Ask      string `json:"ask,omitempty"`
	BaseText string `json:"base_text,omitempty"`
	HeadText string `json:"head_text,omitempty"`
}
