package reports_test

import "github.com/servegate/pipeline/reports/result"

// answersDiffer is a document whose head answers two prompts otherwise.
func answersDiffer() *result.Document {
	doc := passing()
	compared := func(metric string, base, head float64) result.ComparedAnswers {
		return result.ComparedAnswers{Metric: metric, Until: 2, Pairs: []result.Pair{{Repeat: 1, Base: base, Head: head},
			{Repeat: 2, Base: base, Head: head}}}
	}
	doc.Answers = []result.Answers{
		{
			Benchmark: "answers.same", Base: "b", Head: "h", Prompts: 200,
			Compared: []result.ComparedAnswers{compared("agreement.share", 0.995, 0.985), compared("first_divergence.mean", 63.8, 63.1)},
			Reason:   "answers of the head came without a log-probability for each token",
			Divergences: []result.Divergence{
				{Prompt: 16, Repeat: 1, Against: 2, Token: 3, Heads: 2, Ask: "What is the capital of France?",
					BaseText: "The capital of France is Paris.", HeadText: "The capital of Lyon <b>is</b>"},
				{Prompt: 90, Repeat: 2, Against: 1, Token: 11, Heads: 1, Bases: 0, BaseText: "…and so on", HeadText: "…and so\nforth"},
			},
		},
		{Benchmark: "answers.none", Base: "b", Head: "h", Prompts: 200},
	}
	doc.Evaluations = []result.Evaluation{
		{Benchmark: "benchmark.sums", Base: "b", Head: "h", Questions: 1000, Repeats: 6, Worse: 3, Better: 1, Lost: []result.LostQuestion{
			{ID: "gsm8k/17", BaseScore: 1}, {ID: "<b>|`$(x)` \u202e", BaseScore: 5.0 / 6, HeadScore: 0.5},
			{ID: "f1/3", BaseScore: 0.75, HeadScore: 0.71},
		}},
		{Benchmark: "benchmark.none", Base: "b", Head: "h", Questions: 10, Repeats: 6},
		{Benchmark: "benchmark.many", Base: "b", Head: "h", Questions: 1000, Families: 50, Repeats: 2, Worse: 30,
			Lost: []result.LostQuestion{{ID: "q1", BaseScore: 1, HeadScore: 0.5}}},
	}
	return doc
}
