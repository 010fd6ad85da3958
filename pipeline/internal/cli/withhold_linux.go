package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/secret"
	"golang.org/x/sys/unix"
)

// closeProcess makes memory and environment of this process unreadable to other processes of its user: the kernel
// then assigns its entries in /proc to root. A program must not call it if another process of this program started it
// and finds it by its environment.
func closeProcess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	return nil
}

// forgetEnvironment overwrites the secrets in the block of the environment that this process was started with. Values
// already read stay known to the process.
func forgetEnvironment() error {
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("forget the environment: %w", err)
	}
	defer func() { _ = memory.Close() }() // each write returned its own error
	from, to, err := environmentBlock()
	if err != nil {
		return fmt.Errorf("forget the environment: %w", err)
	}
	block := make([]byte, to-from)
	if _, err := memory.ReadAt(block, from); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("forget the environment: %w", err)
	}
	at := from
	for entry := range bytes.SplitSeq(block, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		if value != "" && (secret.Private(name) || len(secret.Values(name, value)) > 0) {
			if _, err := memory.WriteAt(bytes.Repeat([]byte{'*'}, len(value)), at+int64(len(name))+1); err != nil {
				return fmt.Errorf("forget the environment: %w", err)
			}
		}
		at += int64(len(entry)) + 1
	}
	return nil
}

// environmentBlock returns where the block of the environment lies in memory: fields 50 and 51 of
// /proc/PID/stat (proc_pid_stat(5)).
func environmentBlock() (from, to int64, err error) {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	const first, last = 50 - 3, 51 - 3
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) <= last {
		return 0, 0, errors.New("/proc/self/stat does not say where it is")
	}
	from, err1 := strconv.ParseInt(fields[first], 10, 64)
	to, err2 := strconv.ParseInt(fields[last], 10, 64)
	if err := errors.Join(err1, err2); err != nil || from <= 0 || to <= from {
		return 0, 0, errors.Join(errors.New("/proc/self/stat does not say where it is"), err)
	}
	return from, to, nil
}
