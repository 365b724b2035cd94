package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
)

// etcdWriters is how many connections PutMany uses.
const etcdWriters = 32

// ErrNoKey: etcd has no such key.
var ErrNoKey = errors.New("no such key in etcd")

// GetRaw reads the value that etcd has under key, for example
// "/registry/pods/default/web". Possible errors: ErrNoKey.
func (s *Server) GetRaw(ctx context.Context, key string) ([]byte, error) {
	defer s.etcd.closeIdle()
	var answer struct {
		KVs []struct{ Value []byte } `json:"kvs"`
	}
	if err := s.etcd.call(ctx, "/v3/kv/range", map[string]any{"key": []byte(key)}, &answer); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(answer.KVs) == 0 {
		return nil, fmt.Errorf("read %s: %w", key, ErrNoKey)
	}
	return answer.KVs[0].Value, nil
}

// PutRaw writes value under key, past kube-apiserver, which hears of it through
// its watch of etcd a moment later.
func (s *Server) PutRaw(ctx context.Context, key string, value []byte) error {
	defer s.etcd.closeIdle()
	_, err := s.etcd.put(ctx, key, value)
	return err
}

// PutMany does PutRaw for each pair, several at a time and so in no particular
// order, and stops at the first error. Each object gets a version of its own,
// as it would from kube-apiserver: objects written in one transaction would
// share one, and a watch resumed between two of them would miss the second.
func (s *Server) PutMany(ctx context.Context, pairs iter.Seq2[string, []byte]) error {
	defer s.etcd.closeIdle()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type pair struct {
		key   string
		value []byte
	}
	work := make(chan pair)
	var group sync.WaitGroup
	for range etcdWriters {
		group.Go(func() {
			for p := range work {
				if _, err := s.etcd.put(ctx, p.key, p.value); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for key, value := range pairs {
		select {
		case work <- pair{key, value}:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	group.Wait()
	return context.Cause(ctx)
}

// An etcdClient speaks etcd's JSON gateway, which spares the gRPC client and
// all that it needs.
type etcdClient struct {
	address string
	client  *http.Client
}

func newEtcdClient(address string) *etcdClient {
	return &etcdClient{address: address, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: etcdWriters},
	}}
}

// closeIdle ends the connections that nobody uses, with their goroutines: a
// test that looks for leaked ones must not find ours.
func (e *etcdClient) closeIdle() { e.client.CloseIdleConnections() }

// put returns the revision that the value got.
func (e *etcdClient) put(ctx context.Context, key string, value []byte) (int64, error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	err := e.call(ctx, "/v3/kv/put", map[string]any{"key": []byte(key), "value": value}, &answer)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	return answer.Header.Revision, nil
}

// compact drops all history before revision, and returns when it is dropped.
func (e *etcdClient) compact(ctx context.Context, revision int64) error {
	request := map[string]any{"revision": revision, "physical": true}
	if err := e.call(ctx, "/v3/kv/compaction", request, &struct{}{}); err != nil {
		return fmt.Errorf("compact at revision %d: %w", revision, err)
	}
	return nil
}

// call posts a request and decodes the answer. In this JSON, keys and values
// are base64, which is how encoding/json writes []byte.
func (e *etcdClient) call(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := e.client.Do(post)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of etcd to %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s with %s: %s", path, response.Status, bytes.TrimSpace(content))
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("understand the answer of etcd to %s: %w", path, err)
	}
	return nil
}
