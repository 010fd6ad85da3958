package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/publish/publishtest"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/webhook"
)

// receiver records what is posted and answers with status codes in turn, then with 200.
type receiver struct {
	status []int
	got    []reports.Notice
	header []http.Header
	urls   []string
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	var n reports.Notice
	if err := json.NewDecoder(req.Body).Decode(&n); err != nil {
		return nil, err
	}
	r.got, r.header, r.urls = append(r.got, n), append(r.header, req.Header.Clone()), append(r.urls, req.URL.String())
	code := http.StatusOK
	if len(r.status) > 0 {
		code, r.status = r.status[0], r.status[1:]
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Location": {"https://elsewhere.example/"}}, Request: req,
		Body: io.NopCloser(strings.NewReader("invalid_payload"))}, nil
}

const address = "https://hooks.example/services/T000/B000/secret"

func post(t *testing.T, r *receiver, doc *result.Document, env map[string]string, options ...string) publish.Posted {
	t.Helper()
	s := publish.Settings{Key: "chat", Base: publishtest.Later, Number: 7, Options: map[string]string{"url_env": "PIPELINE_WEBHOOK_CHAT"}}
	for i := 0; i < len(options); i += 2 {
		s.Options[options[i]] = options[i+1]
	}
	return webhook.New(publish.Job{Getenv: func(name string) string { return env[name] }, Transport: r}).Post(t.Context(), doc,
		[]publish.Settings{s})
}

var chat = map[string]string{"PIPELINE_WEBHOOK_CHAT": address, "PIPELINE_WEBHOOK_TOKEN": "t0ken", "GITHUB_TOKEN": "ghs_1",
	"BUILDKITE_PULL_REQUEST_REPO": "https://evil.example/o/r"}

// TestNotice: the verdict arrives once, with its numbers, and with a text that notifies nobody.
func TestNotice(t *testing.T) {
	doc := publishtest.Document(result.Regression, 2)
	doc.Source = &result.Source{Commit: publishtest.SHA, Repository: "o/r"}
	doc.Gates[0].Decisions[0].Label = "<!channel> & co"
	r := &receiver{}
	if got := post(t, r, doc, chat, "token_env", "PIPELINE_WEBHOOK_TOKEN"); len(got.Warnings)+len(got.Notes) > 0 {
		t.Fatalf("%+v", got)
	}
	n := r.got[0]
	if len(r.got) != 1 || n.Schema != reports.NoticeSchema || n.Verdict != "regression" || n.ExitCode != 1 || n.Commit != publishtest.SHA ||
		n.Base != publishtest.Later || n.Number != 7 || len(n.Gates) != 2 || !n.Gates[0].Fails || *n.Gates[0].Worst.Change != 0.144 {
		t.Errorf("%+v", n)
	}
	if !strings.HasPrefix(n.Text, "2 of 2 gates regressed. ") || strings.Contains(n.Text, "<") || !strings.Contains(n.Text,
		"&lt;!channel&gt; &amp; co") {
		t.Errorf("text %q", n.Text)
	}
	if len(n.Mentions.Parse) != 0 || r.header[0].Get("Authorization") != "Bearer t0ken" || r.header[0].Get("Idempotency-Key") != "7f3a" {
		t.Errorf("%+v, %v", n.Mentions, r.header[0])
	}
}

// TestWhen: a webhook that is told of failures alone hears nothing of a pass.
func TestWhen(t *testing.T) {
	r := &receiver{}
	post(t, r, publishtest.Document(result.Pass, 1), chat, "when", "fails")
	post(t, r, publishtest.Document(result.Regression, 1), chat, "when", "fails")
	post(t, r, publishtest.Document(result.Pass, 1), chat)
	if len(r.got) != 2 || r.got[0].Verdict != "regression" || r.got[1].Verdict != "pass" {
		t.Errorf("%+v", r.got)
	}
}

// TestFaults: a refusal or a lost answer is a warning without the address, which is a secret. Nothing is sent twice but
// after a rate limit, and never to another host.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		status  []int
		sent    int
		warning string
	}{
		"limited":     {[]int{429}, 2, ""},
		"refused":     {[]int{403}, 1, "the receiver answered 403 invalid_payload"},
		"down":        {[]int{503}, 1, "answered 503"},
		"moved":       {[]int{307}, 1, "answered 307"},
		"broken away": {[]int{302}, 1, "answered 302"},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{status: tt.status}
			got := strings.Join(post(t, r, publishtest.Document(result.Pass, 1), chat).Warnings, "\n")
			if len(r.got) != tt.sent || (tt.warning == "") != (got == "") || !strings.Contains(got, tt.warning) || strings.Contains(got, "secret") {
				t.Errorf("%s: sent %d times, %q", name, len(r.got), got)
			}
			for _, url := range r.urls {
				if url != address {
					t.Errorf("%s: sent to %s", name, url)
				}
			}
		})
	}
}

// TestTrust: the file of a change sends no other secret of the job anywhere, and a job without the variable, as of a
// fork, posts nothing.
func TestTrust(t *testing.T) {
	for name, tt := range map[string]struct {
		env     map[string]string
		options []string
		want    string
	}{
		"no address":               {nil, nil, "the environment has no PIPELINE_WEBHOOK_CHAT"},
		"an address of the change": {chat, []string{"url_env", "BUILDKITE_PULL_REQUEST_REPO"}, "must be PIPELINE_WEBHOOK"},
		"another secret":           {chat, []string{"token_env", "GITHUB_TOKEN"}, "must be PIPELINE_WEBHOOK"},
		"in the clear":             {map[string]string{"PIPELINE_WEBHOOK_CHAT": "http://hooks.example/secret"}, nil, "must be an https URL"},
		"not an address":           {map[string]string{"PIPELINE_WEBHOOK_CHAT": "secret"}, nil, "must be an https URL"},
	} {
		r := &receiver{}
		got := post(t, r, publishtest.Document(result.Pass, 1), tt.env, tt.options...)
		text := strings.Join(append(got.Warnings, got.Notes...), "\n")
		if len(r.got) > 0 || !strings.Contains(text, tt.want) || strings.Contains(text, "secret") {
			t.Errorf("%s: sent %d times, %q", name, len(r.got), text)
		}
	}
}
