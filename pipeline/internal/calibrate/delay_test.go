package calibrate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timed is a body whose chunks come at their times.
type timed struct {
	start time.Time
	at    []time.Duration
	next  int
}

func (b *timed) Read(p []byte) (int, error) {
	if b.next == len(b.at) {
		return 0, io.EOF
	}
	time.Sleep(time.Until(b.start.Add(b.at[b.next])))
	b.next++
	return copy(p, "token"), nil
}

func (*timed) Close() error { return nil }

// Every chunk comes at its time after the request, stretched, however many wait.
func TestChunksAreStretched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		body := stretch(&timed{start: start, at: []time.Duration{100 * time.Millisecond, 110 * time.Millisecond, 300 * time.Millisecond}},
			start, 0.5)
		var got []time.Duration
		for {
			if _, err := body.Read(make([]byte, 64)); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(start))
		}
		want := []time.Duration{150 * time.Millisecond, 165 * time.Millisecond, 450 * time.Millisecond}
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("chunks at %v, want %v", got, want)
			}
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A client that goes away leaves nothing that waits.
func TestACloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		body := stretch(&timed{start: start, at: []time.Duration{time.Second, time.Second, time.Second}}, start, 100)
		done := make(chan error)
		go func() { _, err := body.Read(make([]byte, 8)); done <- err }()
		time.Sleep(2 * time.Second)
		if err := body.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err == nil {
			t.Error("the read returned data that is not due")
		}
		if waited := time.Since(start); waited > 3*time.Second {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestRequestsAndAnswersAreHandedOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.URL.Path+"?"+r.URL.RawQuery+" "+string(body))
	}))
	defer server.Close()
	p, err := NewDelay(server.URL+"/base", 0)
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/v1/completions?x=1", strings.NewReader("prompt"))
	req.Header.Set("Authorization", "Bearer t")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusTeapot || string(text) != "/base/v1/completions?x=1 prompt" || res.Header.Get("X-Seen") != "Bearer t" {
		t.Errorf("%d %q %q", res.StatusCode, text, res.Header.Get("X-Seen"))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestAServerThatIsGone(t *testing.T) {
	p, err := NewDelay("http://127.0.0.1:1", 0.1)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", res.StatusCode)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, share := range []float64{-0.1, 101} {
		if _, err := NewDelay("http://127.0.0.1:1", share); err == nil {
			t.Errorf("a share of %g was accepted", share)
		}
	}
}
