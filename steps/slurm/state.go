package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// state of a job as squeue reports it.
type state struct {
	name   string // PENDING, RUNNING and so on; "" for a job that the controller has forgotten
	reason string // why it waits or ended
	// left is the rest of its time limit; limited is false without a limit.
	left    time.Duration
	limited bool
	nodes   string // in Slurm's short form, such as n[1-2]
}

// look queries the state of the job.
func (j *Job) look(ctx context.Context) (state, error) {
	out, err := j.opt.call(ctx, "squeue", "--noheader", "--states=all", "--jobs="+j.id, "--format=%T|%r|%L|%N")
	if said, ok := errors.AsType[*commandError](err); ok && strings.Contains(said.said, "Invalid job id") {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if line == "" {
		return state{}, nil
	}
	return parseState(line)
}

func parseState(line string) (state, error) {
	f := strings.Split(line, "|")
	if len(f) != 4 {
		return state{}, fmt.Errorf("squeue: %q is not the state of a job", line)
	}
	s := state{name: strings.TrimSpace(f[0]), reason: strings.TrimSpace(f[1]), nodes: strings.TrimSpace(f[3])}
	s.left, s.limited = parseLeft(strings.TrimSpace(f[2]))
	return s, nil
}

// parseLeft parses [DAYS-][[HOURS:]MINUTES:]SECONDS. Any other text, such as UNLIMITED or NOT_SET, means no
// limit.
func parseLeft(text string) (time.Duration, bool) {
	days, clock, dashed := strings.Cut(text, "-")
	if !dashed {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, false
	}
	units := []time.Duration{time.Second, time.Minute, time.Hour}
	total := time.Duration(0)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * units[len(parts)-1-i]
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, false
	}
	return total + time.Duration(n)*24*time.Hour, true
}

// hopeless maps the reasons why a job will never start to advice.
var hopeless = map[string]string{
	"BadConstraints":                  "no node has what constraint asks for",
	"PartitionNodeLimit":              "the partition does not give that many nodes to a job, or some are down: lower nodes",
	"PartitionTimeLimit":              "the partition does not give that much time: lower time",
	"PartitionInactive":               "the partition is inactive: set another partition",
	"PartitionDown":                   "the partition is down: set another partition",
	"InvalidAccount":                  "the account is not known: set another account",
	"InvalidQOS":                      "the QOS is not known: change extra_args",
	"AccountNotAllowed":               "the account may not use the partition: set another account or partition",
	"QOSNotAllowed":                   "the QOS may not use the partition: change extra_args",
	"JobHeldAdmin":                    "an administrator holds it",
	"JobHeldUser":                     "it is held: scontrol release JOB lets it go",
	"AssocMaxNodePerJobLimit":         "the account's jobs may not have that many nodes: lower nodes",
	"AssocMaxWallDurationPerJobLimit": "the account's jobs may not take that long: lower time",
	"QOSMaxNodePerJobLimit":           "the QOS does not give that many nodes to a job: lower nodes",
	"QOSMaxWallDurationPerJobLimit":   "the QOS does not give that much time: lower time",
}

// lost returns why a running job was lost, nil if it was not.
func (j *Job) lost(s state) error {
	why := ""
	if s.reason != "" && s.reason != "None" {
		why = ": " + s.reason
	}
	switch s.name {
	case "RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING":
		return nil
	case "NODE_FAIL", "BOOT_FAIL":
		return evicted(steps.EvictionNodeLost, "a node of Slurm job "+j.id+" failed"+why)
	case "PREEMPTED":
		return evicted(steps.EvictionPreempted, "Slurm job "+j.id+" gave way to another one"+why)
	case "SUSPENDED", "STOPPED":
		return evicted(steps.EvictionPreempted, "Slurm job "+j.id+" is suspended"+why)
	case "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT":
		return evicted(steps.EvictionPreempted, "Slurm job "+j.id+" is back in the queue"+why)
	case "TIMEOUT", "DEADLINE":
		return evicted(steps.EvictionTimeLimit, "the time limit of Slurm job "+j.id+" is over; "+
			"raise time in the slurm block, or ask for less repeats")
	case "CANCELLED", "REVOKED":
		return evicted(steps.EvictionJobCancelled, "Slurm job "+j.id+" was cancelled"+why)
	case "":
		return evicted(steps.EvictionJobEnded, "the Slurm controller does not know job "+j.id+" any longer")
	}
	return evicted(steps.EvictionJobEnded, "Slurm job "+j.id+" has ended ("+s.name+why+")")
}

// settled returns the state of the job once it is not completing. Slurm reports how a job ended only when its
// nodes are free.
func (j *Job) settled(ctx context.Context) (state, error) {
	deadline := time.Now().Add(j.opt.KillWait)
	for {
		s, err := j.look(ctx)
		if err != nil || s.name != "COMPLETING" || time.Now().After(deadline) {
			return s, err
		}
		if steps.Sleep(ctx, j.opt.Poll) != nil {
			return s, nil
		}
	}
}
