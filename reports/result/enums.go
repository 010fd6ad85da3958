package result

import (
	"cmp"
	"reflect"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
)

// enums lists the enumerations of a document with their values. Validate, the schema and the order
// of verdicts read this table.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[Status]():            texts(StatusComplete, StatusInterrupted, StatusFailed),
	reflect.TypeFor[StoppedBy]():         texts(StoppedBudget, StoppedSettled, StoppedHopeless),
	reflect.TypeFor[Verdict]():           texts(severity...),
	reflect.TypeFor[gates.Expectation](): texts(gates.ExpectImprovement),
	reflect.TypeFor[Action]():            texts(Fail, Warn, Ignore),
	reflect.TypeFor[RunStatus]():         texts(RunOK, RunFailed, RunVoid, RunCancelled),
	reflect.TypeFor[VoidCause](): texts(VoidClock, VoidClient, VoidGeneratorLost, VoidMachine, VoidCounters,
		VoidIncomplete, VoidSuspended),
	reflect.TypeFor[DifferentRequests](): texts(OtherPrompts, OtherUsage, OtherLengths, OtherTexts, RepeatedAnswers, MovedAnswers, OtherEvents,
		OtherFinish, BlankTokens, OtherBeginnings, LateEnds, OtherWarmup, OtherReasoning, GatheredEvents, OtherConnections),
	reflect.TypeFor[AnswerForm]():       texts(AnswersStreamed, AnswersStreamedAndWhole),
	reflect.TypeFor[DecisionKind]():     texts(KindMetric, KindSuccess, KindAssert),
	reflect.TypeFor[BaselineKind]():     texts(BaselinePaired, BaselineFile, BaselineStored),
	reflect.TypeFor[TransportStatus]():  texts(TransportProved, TransportContradicted, TransportUnproven),
	reflect.TypeFor[Order]():            texts(OrderAlternated, OrderNotAlternated),
	reflect.TypeFor[StepStatus]():       texts(StepDone, StepCached, StepSkipped, StepFailed),
	reflect.TypeFor[LoadKind]():         texts(LoadRate, LoadConcurrency),
	reflect.TypeFor[Bound]():            texts(AtLeast, AtMost),
	reflect.TypeFor[Operator]():         {"<", "<=", ">", ">=", "==", "!="},
	reflect.TypeFor[metric.Direction](): texts(metric.LowerIsBetter, metric.HigherIsBetter),
	reflect.TypeFor[metric.Scale]():     texts(metric.Log, metric.Difference, metric.Proportion),
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// Status is how a session ended.
type Status string

// The statuses of a session.
const (
	StatusComplete    Status = "complete"
	StatusInterrupted Status = "interrupted"
	StatusFailed      Status = "failed" // failure of the infrastructure
)

// StoppedBy is why a session with a budget took fewer repeats than planned.
type StoppedBy string

// The causes of an early end.
const (
	StoppedBudget   StoppedBy = "budget"
	StoppedSettled  StoppedBy = "settled"
	StoppedHopeless StoppedBy = "hopeless"
)

// Verdict is the outcome of a comparison, a gate or a whole document.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Improvement  Verdict = "improvement"
	Regression   Verdict = "regression"
	Inconclusive Verdict = "inconclusive"
	Missing      Verdict = "missing"
	Invalid      Verdict = "invalid"
)

// RunStatus is how a run ended.
type RunStatus string

// The statuses of a run.
const (
	RunOK        RunStatus = "ok"
	RunFailed    RunStatus = "failed"    // failed because of the server: an outcome
	RunVoid      RunStatus = "void"      // a cause outside the system under test
	RunCancelled RunStatus = "cancelled" // stopped by the program
)

// VoidCause is the kind of cause that made a run void.
type VoidCause string

// The causes of void runs.
const (
	VoidClock         VoidCause = "clock_step"          // the clock of the load generator's machine was stepped
	VoidClient        VoidCause = "client"              // the load generator could not keep up, or failed
	VoidGeneratorLost VoidCause = "load_generator_lost" // its process disappeared
	VoidMachine       VoidCause = "machine"             // other activity on the servers' machine
	VoidCounters      VoidCause = "counters"            // counters of the servers that a gate needs are unknown
	VoidIncomplete    VoidCause = "incomplete"          // an imported result contains only a part of the run
	VoidSuspended     VoidCause = "suspended"           // somebody paused the servers: their job, container, cgroup or processes
)

// BySide reports whether the cause can depend on how fast a side is: a slow server keeps the client
// busy, and a demanding one is throttled. A clock step, a lost process and a pause affect all sides
// alike.
func (c VoidCause) BySide() bool {
	return c != VoidClock && c != VoidGeneratorLost && c != VoidSuspended
}

// AnswerForm is the form in which answers were requested.
type AnswerForm string

// The forms of answers.
const (
	AnswersStreamed AnswerForm = "streamed" // as the load requests them
	// AnswersStreamedAndWhole are answers whose texts are streamed. Their tokens and
	// log-probabilities come from a second request, answered as a whole.
	AnswersStreamedAndWhole AnswerForm = "streamed_and_whole"
)

// DifferentRequests is the aspect in which the measured requests of two sides differ.
type DifferentRequests string

// The differences of requests.
const (
	OtherPrompts     DifferentRequests = "prompt_tokens"    // tokens of a prompt
	OtherUsage       DifferentRequests = "usage"            // tokens that a server does not report
	OtherLengths     DifferentRequests = "output_tokens"    // tokens of an answer
	OtherTexts       DifferentRequests = "characters"       // characters of a token
	RepeatedAnswers  DifferentRequests = "repeated_answers" // one answer to several prompts
	MovedAnswers     DifferentRequests = "moved_answers"    // an answer to another prompt
	OtherEvents      DifferentRequests = "events"           // tokens of an event
	OtherFinish      DifferentRequests = "finish"           // reasons for which answers end
	BlankTokens      DifferentRequests = "blank"            // a first token without text
	LateEnds         DifferentRequests = "late_ends"        // time from the last token to the end of the response
	OtherReasoning   DifferentRequests = "reasoning"        // share of an answer that is reasoning
	GatheredEvents   DifferentRequests = "gathered"         // events that arrive together
	OtherConnections DifferentRequests = "connections"      // connections that the server closes after an answer
	OtherWarmup      DifferentRequests = "warmup"           // failures or times of the requests before the measured ones
	OtherBeginnings  DifferentRequests = "beginnings"       // first words of greedy answers
)

// DecisionKind is the subject of a decision.
type DecisionKind string

// The kinds of decisions.
const (
	KindMetric  DecisionKind = "metric"
	KindSuccess DecisionKind = "success" // rates of failed requests
	KindAssert  DecisionKind = "assert"  // a limit
)

// BaselineKind is the kind of baseline that the head of a gate is compared with.
type BaselineKind string

// The kinds of baselines.
const (
	BaselinePaired BaselineKind = "paired" // the other side, in the same session
	BaselineFile   BaselineKind = "file"   // a stored document: described, not decided
	BaselineStored BaselineKind = "stored" // the sessions of a history
)

// TransportStatus is the conclusion on a KV transfer.
type TransportStatus string

// The statuses of a transport.
const (
	TransportProved       TransportStatus = "proved"
	TransportContradicted TransportStatus = "contradicted"
	TransportUnproven     TransportStatus = "unproven"
)

// StepStatus is how a one-shot step ended.
type StepStatus string

// The statuses of a step.
const (
	StepDone    StepStatus = "done"
	StepCached  StepStatus = "cached"
	StepSkipped StepStatus = "skipped"
	StepFailed  StepStatus = "failed"
)

// Operator is the comparison of a value with a limit.
type Operator string

// Sign returns an operator as people write it.
func (o Operator) Sign() string {
	return cmp.Or(map[Operator]string{"<=": "≤", ">=": "≥", "!=": "≠", "==": "="}[o], string(o))
}
