package analytics

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	requestTimeout = 10 * time.Second
	// Below this size gzip costs more than it saves: such a body fits into one packet.
	minGzipBytes = 1_000
	// A response names at most every call of a batch.
	maxAnswerBytes = 1 << 20

	envelopeHead = `{"batch":[`
	envelopeTail = `],"context":{"library":{"name":"waypost-go","version":"` + Version + `"}}}`
)

// refusal is a response other than success.
type refusal struct {
	status     *StatusError
	retryAfter time.Duration
}

func (r *refusal) Error() string { return r.status.Error() }

func defaultHTTPClient(connections int) *http.Client {
	client := &http.Client{Timeout: requestTimeout}
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		own := transport.Clone()
		own.MaxIdleConnsPerHost = connections
		client.Transport = own
	}
	return client
}

// post sends a batch once. It returns the rejected calls of the batch; *refusal for a response other than success; or
// a network error.
func (e *engine) post(batch []Message) (map[int]*RejectedError, error) {
	body := envelope(batch, time.Now())
	e.debugf("POST %s: %d calls, %d bytes", e.url, len(batch), len(body))
	zipped := e.gzip && len(body) >= minGzipBytes
	if zipped {
		body = compress(body)
	}
	request, err := http.NewRequestWithContext(e.ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(e.writeKey, "")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "waypost-go/"+Version)
	if zipped {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := e.unredirected().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, refused(response, text)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	return rejectedCalls(text), nil
}

// unredirected returns a client that follows no redirect: a redirected POST would arrive elsewhere as a GET, and get
// a 200.
func (e *engine) unredirected() *http.Client {
	client := *e.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

func envelope(batch []Message, now time.Time) []byte {
	size := len(envelopeHead) + len(envelopeTail)
	for _, m := range batch {
		size += m.sentBytes() + 1
	}
	sentAt := now.UTC().Format(timeLayout)
	body := append(make([]byte, 0, size), envelopeHead...)
	for i, m := range batch {
		if i > 0 {
			body = append(body, ',')
		}
		body = m.appendTo(body, sentAt)
	}
	return append(body, envelopeTail...)
}

// A writer takes 800 KB: too much to allocate for each request.
var zippers = sync.Pool{New: func() any {
	zipper, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return zipper
}}

func compress(body []byte) []byte {
	zipper := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zipper)
	var zipped bytes.Buffer
	zipped.Grow(len(body) / 4)
	zipper.Reset(&zipped)
	// A bytes.Buffer returns no error.
	_, _ = zipper.Write(body)
	_ = zipper.Close()
	return zipped.Bytes()
}

func refused(response *http.Response, text []byte) *refusal {
	status := &StatusError{Status: response.StatusCode}
	var told struct{ Code, Message string }
	// A response may come from another server: then only the status counts.
	if json.Unmarshal(text, &told) == nil {
		status.Code, status.Message = told.Code, told.Message
	}
	return &refusal{status: status, retryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now())}
}

// rejectedCalls reads the rejected calls of a batch from a response. Ingests other than Waypost may not list them.
func rejectedCalls(text []byte) map[int]*RejectedError {
	if !bytes.Contains(text, []byte(`"rejected"`)) {
		return nil
	}
	var told struct {
		Rejected []struct {
			Index         int
			Code, Message string
		}
	}
	if json.Unmarshal(text, &told) != nil {
		return nil
	}
	rejected := make(map[int]*RejectedError, len(told.Rejected))
	for _, r := range told.Rejected {
		rejected[r.Index] = &RejectedError{Code: r.Code, Message: r.Message}
	}
	return rejected
}
