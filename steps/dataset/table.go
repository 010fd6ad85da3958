package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Limits for dataset files, which are untrusted.
const (
	maxEntries = 4_000_000
	maxLine    = 32 << 20
	maxLength  = 100_000_000 // tokens of a prompt or an answer
	maxBlocks  = 64 << 20    // stored block names of all prompts
	// maxTraceTime keeps times well within the range of time.Duration.
	maxTraceTime = 10 * 365 * 24 * time.Hour
)

// byteOrderMark is the mark that spreadsheets write before UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// Entry is one request of a file, before its text is tokenized.
type Entry struct {
	// One of Text, Messages and IDs is the prompt; a trace has none.
	Text     string
	Messages json.RawMessage
	IDs      []int
	// Documents are to be ranked by Text.
	Documents []string
	// Answer is the recorded answer. Its length is the length to request.
	Answer string
	// Input and Output are lengths in tokens, 0 if the file has none.
	Input, Output int
	// At is the time of a trace's request, relative to the first one.
	At time.Duration
	// Blocks names the blocks of the prompt in a trace: equal names mean equal content. Each has blockSize
	// tokens, or the dataset's block_size if that is 0.
	Blocks    []int64
	blockSize int
	// adds means that Blocks covers only what the prompt adds to the call that it continues.
	adds bool
	// lastMessage is the last message of the prompt, if the trace contains messages.
	lastMessage *utterance
	// cached is the recorded number of prompt tokens found in the service's cache, nil if not recorded.
	cached *int
	// Turn is the entry's place in a recorded session, nil outside of one.
	Turn *Turn
	// line is the entry's line in the file, for messages.
	line int
}

// Table is the content of a dataset file.
type Table struct {
	Entries []Entry
	// Sessions is the number of recorded sessions.
	Sessions int
	// Notes describe what of the file is not replayed.
	Notes []string

	blocks int // number of stored block names
}

// read reads a file of the kind. Errors name the line.
func (k Kind) read(r io.Reader) (*Table, error) {
	if k.Read == nil {
		return nil, fmt.Errorf("datasets of kind %q are not read from a file", k.Name)
	}
	br := bufio.NewReader(r)
	if head, _ := br.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = br.Discard(len(byteOrderMark))
	}
	t, err := k.Read(br)
	if err != nil {
		return nil, err
	}
	if len(t.Entries) == 0 {
		return nil, errors.New("it has no usable entry")
	}
	return t, nil
}

func (t *Table) add(e Entry) error {
	if len(t.Entries) == maxEntries {
		return fmt.Errorf("more than %d entries", maxEntries)
	}
	if t.blocks > maxBlocks {
		return fmt.Errorf("more than %d names of blocks up to here, beside those that prompts of a session have in common: cut the trace",
			maxBlocks)
	}
	t.Entries = append(t.Entries, e)
	return nil
}

// eachLine calls f for every non-empty line.
func eachLine(r io.Reader, f func(n int, line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for s.Scan() {
		n++
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			err := f(n, line)
			if _, placed := errors.AsType[*faultyLine](err); err != nil && !placed {
				err = lineError(n, "%w", err)
			}
			if err != nil {
				return err
			}
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d MiB", n+1, maxLine>>20)
	}
	return s.Err()
}

// turn is one message of a ShareGPT conversation.
type turn struct {
	Value string `json:"value"`
}

// readShareGPT reads the JSON array of conversations as a stream, because the file has about 600 MB. As in
// `vllm bench serve` 0.33, it uses the first two turns, whoever speaks, and drops shorter conversations.
func readShareGPT(r io.Reader) (*Table, error) {
	t := &Table{}
	d := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	if tok, err := d.Token(); err != nil || tok != json.Delim('[') {
		return nil, errors.New("not a list of conversations: a ShareGPT file is a JSON array of { \"conversations\": [ { \"value\": … }, … ] }")
	}
	for n := 1; d.More(); n++ {
		var c struct {
			Conversations []turn `json:"conversations"`
		}
		if err := d.Decode(&c); err != nil {
			return nil, fmt.Errorf("conversation %d: %w", n, err)
		}
		if len(c.Conversations) < 2 || c.Conversations[0].Value == "" {
			continue
		}
		if err := t.add(Entry{Text: c.Conversations[0].Value, Answer: c.Conversations[1].Value, line: n}); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the list of conversations does not end: %w", err)
	}
	return t, nil
}

// promptLine is a line of kind file. It accepts the formats of vLLM's custom dataset (prompt, output_tokens),
// of SGLang's openai dataset (messages, max_tokens) and of recorded requests (prompt_token_ids). Other members
// are ignored.
type promptLine struct {
	Prompt       json.RawMessage `json:"prompt"`
	IDs          []int           `json:"prompt_token_ids"`
	Messages     json.RawMessage `json:"messages"`
	Query        string          `json:"query"`
	Documents    []string        `json:"documents"`
	OutputTokens *int            `json:"output_tokens"`
	OutputLen    *int            `json:"output_len"`
	MaxTokens    *int            `json:"max_tokens"`
	Completion   *int            `json:"max_completion_tokens"`
}

func readPrompts(r io.Reader) (*Table, error) {
	t := &Table{}
	return t, eachLine(r, t.addPrompt)
}

func (t *Table) addPrompt(n int, line []byte) error {
	var l promptLine
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("not a JSON object with a prompt: %w", err)
	}
	e := Entry{line: n}
	for _, length := range []*int{l.OutputTokens, l.OutputLen, l.MaxTokens, l.Completion} {
		if length == nil || e.Output != 0 {
			continue
		}
		if *length < 1 || *length > maxLength {
			return fmt.Errorf("an answer of %d tokens; it must have at least 1", *length)
		}
		e.Output = *length
	}
	if err := e.setPrompt(l); err != nil {
		return err
	}
	return t.add(e)
}

// setPrompt sets the one prompt of a line.
func (e *Entry) setPrompt(l promptLine) error {
	given := 0
	if len(l.Prompt) > 0 && string(l.Prompt) != "null" {
		given++
		if json.Unmarshal(l.Prompt, &e.Text) != nil && json.Unmarshal(l.Prompt, &e.IDs) != nil {
			return errors.New("prompt must be text or a list of token ids")
		}
	}
	if len(l.IDs) > 0 {
		given++
		e.IDs = l.IDs
	}
	if len(l.Messages) > 0 && string(l.Messages) != "null" {
		given++
		if err := checkMessages(l.Messages); err != nil {
			return err
		}
		e.Messages = l.Messages
	}
	if l.Query != "" || len(l.Documents) > 0 {
		given++
		if l.Query == "" || len(l.Documents) == 0 {
			return errors.New("a query needs documents, and documents a query")
		}
		e.Text, e.Documents = l.Query, l.Documents
	}
	switch {
	case given != 1:
		return fmt.Errorf("it has %d of prompt, prompt_token_ids, messages and query, and needs exactly one", given)
	case e.Text == "" && len(e.IDs) == 0 && e.Messages == nil:
		return errors.New("the prompt is empty")
	}
	for _, id := range e.IDs {
		if id < 0 {
			return fmt.Errorf("token id %d is negative", id)
		}
	}
	e.Input = len(e.IDs)
	return nil
}

// message is a chat message. Its content is text or a list of parts.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func checkMessages(raw json.RawMessage) error {
	var list []message
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("messages must be a list of { \"role\": …, \"content\": … }: %w", err)
	}
	if len(list) == 0 {
		return errors.New("messages is an empty list")
	}
	for i, m := range list {
		if m.Role == "" {
			return fmt.Errorf("message %d has no role", i+1)
		}
	}
	return nil
}
