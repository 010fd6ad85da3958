package slurm_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

// As scontrol of Slurm 22.05.8 writes it, shortened.
const job = "JobId=7 JobName=pipeline UserId=root(0) Priority=1 JobState=STATE Reason=None Dependency=(null) Requeue=0 ExitCode=0:0 " +
	"RunTime=RAN TimeLimit=UNLIMITED " +
	"SubmitTime=2026-11-26T13:00:00 StartTime=2026-11-26T13:00:01 EndTime=Unknown SuspendTime=LAST SecsPreSuspend=PRE " +
	"LastSchedEval=2026-11-26T13:00:01 NodeList=n1\n"

func described(state, ran, last, pre string) string {
	return strings.NewReplacer("STATE", state, "RAN", ran, "LAST", last, "PRE", pre).Replace(job)
}

// watched watches a server of job 7, of which the controller says what it is told to.
func watched(t *testing.T, first string) (tell func(string), paused func(context.Context) (string, error)) {
	t.Helper()
	r, s, err := launched(t, slurm.Options{}, slurm.Place{}, steps.Process{Name: "sut", Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	tell = func(text string) {
		r.commands["scontrol show job"] = text
		r.commands["scontrol --oneliner show job"] = text
	}
	tell(first)
	return tell, s.Capabilities().WatchPauses(t.Context())
}

func TestSuspensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tell, paused := watched(t, described("RUNNING", "00:00:10", "None", "0"))
		for i, tt := range []struct{ text, want string }{
			{described("RUNNING", "00:00:40", "None", "0"), ""},
			{described("RUNNING", "00:01:04", "2026-11-26T13:01:11", "50"), "Slurm job 7 was suspended and resumed (it did not run for about 6s)"},
			{described("RUNNING", "00:01:34", "2026-11-26T13:01:11", "50"), ""},
			{described("SUSPENDED", "00:01:44", "2026-11-26T13:01:51", "104"), "Slurm job 7 is suspended"},
			{described("RUNNING", "00:01:54", "2026-11-26T13:02:21", "104"), "Slurm job 7 was suspended and resumed (it did not run for about 20s)"},
			{described("RUNNING", "00:02:24", "2026-11-26T13:02:40", "140"), "Slurm job 7 was suspended and resumed"}, // for less than a second
			{"slurm_load_jobs error: x", "no JobState or SuspendTime"},
			{described("RUNNING", "00:03:24", "2026-11-26T13:02:40", "140"), ""},
		} {
			time.Sleep(30 * time.Second)
			tell(tt.text)
			got, err := paused(t.Context())
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.HasSuffix(got, tt.want)) {
				t.Errorf("look %d: %q, want %q", i, got, tt.want)
			}
		}
	})
}

// A controller that did not answer at first is asked from then on.
func TestSuspensionsUnknownAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tell, paused := watched(t, "gibberish")
		synctest.Wait() // for the first look
		tell(described("RUNNING", "00:00:40", "None", "0"))
		if got, err := paused(t.Context()); got != "" || err == nil {
			t.Errorf("at first: %q, %v", got, err)
		}
		tell(described("SUSPENDED", "00:00:40", "2026-11-26T13:02:21", "40"))
		if got, err := paused(t.Context()); got == "" || err != nil {
			t.Errorf("then: %q, %v", got, err)
		}
	})
}
