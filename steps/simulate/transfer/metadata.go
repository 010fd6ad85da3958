package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// segmentInfo is what a Mooncake engine before V1 leaves in the metadata service.
type segmentInfo struct {
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Address  string `json:"tcp_endpoint"`
}

// register makes this engine's segment known. Without the service the engine does not start.
func (k *Side) register() error {
	ctx, cancel := k.bounded(k.ctx)
	defer cancel()
	text, err := json.Marshal(segmentInfo{Name: k.plan.Segment, Protocol: k.plan.Transport, Address: k.address})
	if err != nil {
		return err
	}
	if err := metadataFor(k.plan.Metadata).put(ctx, segmentKey(k.plan.Segment), text); err != nil {
		return fmt.Errorf("register the segment descriptor in metadata server %s: %w", k.plan.Metadata, err)
	}
	return nil
}

// lookup finds the address of the prefill server's segment.
func (k *Side) lookup(ctx context.Context) (string, error) {
	text, err := metadataFor(k.plan.Metadata).get(ctx, segmentKey(k.plan.Segment))
	var info segmentInfo
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return "", fmt.Errorf("%w: failed to get segment desc of %s from metadata server %s: %w", ErrLoad, k.plan.Segment, k.plan.Metadata, err)
	}
	return info.Address, nil
}

func segmentKey(segment string) string { return "mooncake/ram/" + segment }

// metadataClient talks to a metadata service: Mooncake's own over HTTP, or etcd through
// its JSON gateway.
type metadataClient struct {
	url  string
	etcd bool
}

// metadataFor reads the forms that Mooncake takes: "host:2379" and "etcd://host:2379" for
// etcd, "http://host:8080/metadata" for its own server.
func metadataFor(address string) metadataClient {
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return metadataClient{url: address}
	}
	return metadataClient{url: "http://" + strings.TrimPrefix(address, "etcd://"), etcd: true}
}

func (c metadataClient) put(ctx context.Context, key string, value []byte) error {
	if c.etcd {
		return c.gateway(ctx, "put", map[string][]byte{"key": []byte(key), "value": value}, nil)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, c.url+"?key="+url.QueryEscape(key), bytes.NewReader(value))
	if err != nil {
		return err
	}
	return doJSON(req, nil)
}

func (c metadataClient) get(ctx context.Context, key string) ([]byte, error) {
	if !c.etcd {
		var value json.RawMessage
		err := getJSON(ctx, c.url+"?key="+url.QueryEscape(key), &value)
		return value, err
	}
	var answer struct {
		KVs []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := c.gateway(ctx, "range", map[string][]byte{"key": []byte(key)}, &answer); err != nil {
		return nil, err
	}
	if len(answer.KVs) == 0 {
		return nil, fmt.Errorf("the key %s is not there", key)
	}
	return answer.KVs[0].Value, nil
}

// gateway calls etcd's v3 JSON gateway.
func (c metadataClient) gateway(ctx context.Context, method string, body map[string][]byte, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v3/kv/"+method, bytes.NewReader(text))
	if err != nil {
		return err
	}
	return doJSON(req, into)
}
