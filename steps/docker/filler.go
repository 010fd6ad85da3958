package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// extras are the settings of HostConfig that dockertest's type does not have, as Docker's
// API v1.40 names them.
type extras struct {
	DeviceRequests []deviceRequest `json:",omitempty"`
	Runtime        string          `json:",omitempty"`
}

// deviceRequest asks for GPUs and CDI devices.
type deviceRequest struct {
	Driver       string     `json:",omitempty"`
	Count        int        `json:",omitempty"`
	DeviceIDs    []string   `json:",omitempty"`
	Capabilities [][]string `json:",omitempty"`
}

type extrasKey struct{}

// withExtras hands settings to the filler on the way to the daemon.
func withExtras(ctx context.Context, e extras) context.Context {
	return context.WithValue(ctx, extrasKey{}, e)
}

// filler is a transport that adds to create requests what dockertest cannot express.
type filler struct{ base http.RoundTripper }

// RoundTrip passes everything but a create request through unchanged.
func (f *filler) RoundTrip(req *http.Request) (*http.Response, error) {
	e, ok := req.Context().Value(extrasKey{}).(extras)
	if !ok || req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/containers/create") {
		return f.base.RoundTrip(req)
	}
	body, err := fill(req.Body, e)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = nil
	req.ContentLength = int64(len(body))
	return f.base.RoundTrip(req)
}

// fill merges e into the HostConfig of a create request and closes the request's body.
func fill(body io.ReadCloser, e extras) ([]byte, error) {
	defer func() { _ = body.Close() }()
	var create, host, more map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&create); err != nil {
		return nil, fmt.Errorf("reading our own create request: %w", err)
	}
	if raw := create["HostConfig"]; raw != nil {
		if err := json.Unmarshal(raw, &host); err != nil {
			return nil, fmt.Errorf("reading our own create request: %w", err)
		}
	}
	if host == nil {
		host = map[string]json.RawMessage{}
	}
	added, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(added, &more); err != nil {
		return nil, err
	}
	maps.Copy(host, more)
	if create["HostConfig"], err = json.Marshal(host); err != nil {
		return nil, err
	}
	return json.Marshal(create)
}
