package mock_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/load/mock"
)

// serve starts a server with so short a schedule that a test waits for nothing.
func serve(t *testing.T, sched mock.Schedule) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := mock.New(sched).Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return "http://" + l.Addr().String()
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestAnswersAndTruth(t *testing.T) {
	url := serve(t, mock.Schedule{First: 3 * time.Millisecond, Gap: time.Millisecond})
	status, text := ask(t, "POST", url+"/v1/completions", `{"prompt":[1,2,3],"max_tokens":4,"stream":true}`)
	if status != 200 || strings.Count(text, `"text":" token"`) != 4 || !strings.HasSuffix(text, "data: [DONE]\n\n") ||
		!strings.Contains(text, `"prompt_tokens":3,"total_tokens":7`) {
		t.Fatalf("status %d: %s", status, text)
	}
	if status, _ := ask(t, "POST", url+"/v1/completions", `{"prompt":"a","stream":true}`); status != 400 {
		t.Errorf("no max_tokens: status %d", status)
	}
	_, text = ask(t, "GET", url+"/truth", "")
	var truth mock.Truth
	if err := json.Unmarshal([]byte(text), &truth); err != nil {
		t.Fatal(err)
	}
	// Never before the schedule; how much later is the machine's.
	if truth.Requests != 1 || truth.Tokens != 4 || truth.Peak != 1 || truth.TTFT.P50 < 0.003 || truth.ITL.Mean <= 0 {
		t.Errorf("truth %+v", truth)
	}
	if _, text = ask(t, "GET", url+"/arrivals", ""); text != "[0]" {
		t.Errorf("arrivals %s", text)
	}
	ask(t, "POST", url+"/reset", "")
	if _, text = ask(t, "GET", url+"/arrivals", ""); text != "[]" && text != "null" {
		t.Errorf("arrivals after a reset: %s", text)
	}
	if _, text = ask(t, "GET", url+"/truth", ""); !strings.Contains(text, `"requests":0`) {
		t.Errorf("after a reset: %s", text)
	}
	if _, text = ask(t, "POST", url+"/tokenize", `{"prompt":"So long lives this"}`); !strings.Contains(text, `"count":4`) {
		t.Errorf("tokenize: %s", text)
	}
}

func TestQuantiles(t *testing.T) {
	q := mock.QuantilesOf([]int64{4e9, 1e9, 2e9, 3e9})
	if q.P50 != 2.5 || q.Mean != 2.5 || q.P99 < 3.96 || q.P99 > 3.98 {
		t.Errorf("%+v", q)
	}
}
