package result

// RunAnswers is what a run of an answers block collected.
type RunAnswers struct {
	Prompts int `json:"prompts"` // that were answered
	Tokens  int `json:"tokens"`  // of all answers
	// Form in which they were asked for.
	Form AnswerForm `json:"form"`
	// Logprobs is whether every token has a log-probability.
	Logprobs bool `json:"logprobs,omitempty"`
	// Digest of the answers, which is in a journal only: see package answers. The texts are in
	// the records.
	Digest string `json:"digest,omitempty"`
}

// Answers are the answers of two cells set against each other. Each answer of a launch is
// compared with the closest one that the base's other launches gave to the prompt.
type Answers struct {
	Benchmark string `json:"benchmark"` // address of the answers block
	Base      string `json:"base"`      // hash of the base's cell
	Head      string `json:"head"`      // hash of the head's cell
	Prompts   int    `json:"prompts"`   // that were sent in each launch
	// Form in which they were asked for; absent where nothing was answered.
	Form AnswerForm `json:"form,omitempty"`
	// Answered are the prompts to which launches of both sides gave an answer that can be compared.
	Answered int    `json:"answered"`
	Reason   string `json:"reason,omitempty"` // why there is nothing to compare
	// Compared holds the values by metric and by the last repeat that there was.
	Compared []ComparedAnswers `json:"compared,omitempty"`
	// Divergences are the prompts to which the head gave an answer that no launch of the base
	// gave, the earliest first; a few of them.
	Divergences []Divergence `json:"divergences,omitempty"`
}

// ComparedAnswers are the values of one metric of answers after some repeats. Every value is
// against all other launches of the base so far, so that each repeat changes all of them.
type ComparedAnswers struct {
	Metric string `json:"metric"` // id
	Until  int    `json:"until"`  // the last of the repeats
	// Pairs of the repeats: of the base's launch, which is the noise floor, and of the head's.
	Pairs []Pair `json:"pairs"`
	// ErrorOfPrompts is the standard error of the mean difference by the spread of the prompts,
	// with PromptsDF degrees of freedom; absent where no prompt differs.
	ErrorOfPrompts float64 `json:"error_of_prompts,omitempty" bounds:"0,"`
	PromptsDF      float64 `json:"prompts_df,omitempty" bounds:"0,"`
}

// Divergence is a prompt to which the head answers otherwise than every launch of the base.
type Divergence struct {
	Prompt int `json:"prompt"` // number of the request, from 0
	// Repeat of the head's launch, and Against that of the base's launch that comes closest.
	Repeat  int `json:"repeat"`
	Against int `json:"against"`
	Token   int `json:"token"` // the first that differs, from 0
	// Heads counts the launches of the head that diverge there or elsewhere, and Bases those of
	// the base that do so from the base's others.
	Heads int `json:"heads"`
	Bases int `json:"bases"`
	// Ask is the end of the prompt where it is a text, BaseText and HeadText what was answered
	// around the token; secrets are masked.
	Ask      string `json:"ask,omitempty"`
	BaseText string `json:"base_text,omitempty"`
	HeadText string `json:"head_text,omitempty"`
}
