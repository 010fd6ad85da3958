package event

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

var epoch = time.Date(2026, 8, 22, 10, 0, 0, 0, time.UTC)

func fixed() time.Time { return epoch }

type recorder struct{ events []Event }

func (r *recorder) Handle(e Event) { r.events = append(r.events, e) }

type memory struct {
	bytes.Buffer
	synced int // bytes at the last sync
	fail   error
}

func (m *memory) Write(p []byte) (int, error) {
	if m.fail != nil {
		return 0, m.fail
	}
	return m.Buffer.Write(p)
}

func (m *memory) Sync() error { m.synced = m.Len(); return nil }

func TestBusOrder(t *testing.T) {
	a, b := &recorder{}, &recorder{}
	bus := NewBus(fixed, 0, a)
	bus.Start("pipeline 1", "id", "")
	bus.Attach(b)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				bus.Emit(Event{Type: RunProgress})
			}
		})
	}
	wg.Wait()
	if len(a.events) != 401 || len(b.events) != 400 {
		t.Fatalf("%d and %d events, want 401 and 400", len(a.events), len(b.events))
	}
	for i, e := range a.events {
		if e.Seq != i+1 || !e.Time.Equal(epoch) {
			t.Fatalf("event %d has number %d and time %v", i, e.Seq, e.Time)
		}
	}
	if first := a.events[0]; first.Type != Version || first.Schema != Schema || first.RunID != "id" {
		t.Errorf("first event: %+v", first)
	}
}

func TestJournal(t *testing.T) {
	file := &memory{}
	journal := NewJournal(file, NewRedactor([]string{"top-secret"}))
	bus := NewBus(fixed, 7, journal)
	bus.Start("p", "id", "")
	bus.Emit(Event{Type: RunProgress, Progress: &Progress{Sent: 1}})
	bus.Emit(Event{Type: Heartbeat})
	bus.Emit(Event{Type: LaunchFail, Failure: &result.Failure{LogTail: []string{"key=top-secret"}}})
	if file.synced != file.Len() {
		t.Error("a failed launch is not synced")
	}
	bus.Emit(Event{Type: RunStart})
	if file.synced == file.Len() {
		t.Error("the start of a run is synced: that costs a disk flush for nothing")
	}
	if text := file.String(); strings.Contains(text, "top-secret") || strings.Count(text, "\n") != 3 {
		t.Errorf("journal:\n%s", text)
	}
	var seqs []int
	good, err := Read(&file.Buffer, func(e Event) error { seqs = append(seqs, e.Seq); return nil })
	if err != nil || len(seqs) != 3 || seqs[0] != 8 || seqs[2] != 12 || good == 0 {
		t.Errorf("read back %v, %d bytes, %v", seqs, good, err)
	}
}

// Views see every event behind the journal, also those that it does not store and those behind its error.
func TestViewsOfAJournal(t *testing.T) {
	file, first, second := &memory{}, &recorder{}, &recorder{}
	journal := NewJournal(file, NewRedactor([]string{"top-secret"}))
	journal.Show(first)
	journal.Show(second)
	bus := NewBus(fixed, 0, journal)
	bus.Emit(Event{Type: RunProgress, Progress: &Progress{Sent: 1}})
	failure := &result.Failure{LogTail: []string{"key=other"}}
	bus.Emit(Event{Type: LaunchFail, Failure: failure})
	file.fail = errors.New("no space left on device")
	bus.Emit(Event{Type: LaunchFail, Failure: &result.Failure{LogTail: []string{"key=top-secret"}}})
	for _, view := range []*recorder{first, second} {
		if len(view.events) != 3 {
			t.Fatalf("%d events, want 3", len(view.events))
		}
		if view.events[1].Failure != failure {
			t.Error("an event without secrets is a copy")
		}
		if got := view.events[2].Failure.LogTail[0]; got != "key="+Mask {
			t.Errorf("shown: %s", got)
		}
	}
	if strings.Count(file.String(), "\n") != 1 || bus.Err() == nil {
		t.Errorf("journal %q, error %v", file.String(), bus.Err())
	}
}

func TestJournalErrorIsSticky(t *testing.T) {
	file := &memory{fail: errors.New("no space left on device")}
	bus := NewBus(fixed, 0, &recorder{}, NewJournal(file, nil))
	bus.Emit(Event{Type: RunEnd})
	file.fail = nil
	bus.Emit(Event{Type: RunEnd})
	if bus.Err() == nil || file.Len() != 0 {
		t.Errorf("error %v, %d bytes written behind it", bus.Err(), file.Len())
	}
}

func TestReadToleratesATornEnd(t *testing.T) {
	var file memory
	bus := NewBus(fixed, 0, NewJournal(&file, nil))
	bus.Start("p", "id", "")
	for range 3 {
		bus.Emit(Event{Type: RunEnd, Text: "a line"})
	}
	whole := file.Bytes()
	for cut := range len(whole) + 1 {
		want := bytes.Count(whole[:cut], []byte("\n"))
		got := 0
		good, err := Read(bytes.NewReader(whole[:cut]), func(Event) error { got++; return nil })
		if err != nil || got != want || good != int64(bytes.LastIndexByte(whole[:cut], '\n')+1) {
			t.Fatalf("cut at %d: %d events (want %d), good up to %d, %v", cut, got, want, good, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for name, text := range map[string]string{
		"a hole in the middle": "{\"seq\":1}\n\x00\x00\n{\"seq\":3}\n",
		"another version":      `{"seq":1,"type":"version","schema":"2.0"}` + "\n",
		"an endless line":      strings.Repeat("x", maxLine+1),
	} {
		if _, err := Read(strings.NewReader(text), func(Event) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	stop := errors.New("stop")
	if _, err := Read(strings.NewReader("{}\n"), func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the callback's error", err)
	}
	if good, err := Read(strings.NewReader("{\"seq\":1}\n\x00\x00\x00\n"), func(Event) error { return nil }); err != nil || good != 10 {
		t.Errorf("zeros at the end: good up to %d, %v", good, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"seq\":1,\"type\":\"version\",\"schema\":\"1.0\"}\n{\"seq\":2}\n{\"se"))
	f.Fuzz(func(t *testing.T, data []byte) {
		good, _ := Read(bytes.NewReader(data), func(Event) error { return nil })
		if good < 0 || good > int64(len(data)) || good > 0 && data[good-1] != '\n' {
			t.Fatalf("good up to %d of %d", good, len(data))
		}
	})
}
