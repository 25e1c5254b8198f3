// Package analytics sends analytics calls to Waypost, or to any ingest of the same wire format.
//
//	client := analytics.New("WRITE_KEY")
//	client.Endpoint = "https://ingest.example.com"
//	err := client.Track(&analytics.Track{UserId: "u1", Event: "Order Completed"})
//	...
//	err = client.Close(ctx)
//
// A call returns immediately: the client queues it and sends it in the background with others, gzipped. It sends a
// temporary failure again with the same MessageId for up to RetryFor. QueueBytes bounds the memory: beyond it a call
// returns ErrQueueFull, and Enqueue waits. The client drops nothing silently: OnFailed receives each message that it
// gives up.
package analytics

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Version of this library.
const Version = "0.1.0"

// Client queues calls and sends them. It reads its settings at the first call; later changes have no effect. Its
// methods are safe for concurrent use.
type Client struct {
	// Endpoint is the address of ingest. Default http://localhost:8080.
	Endpoint string
	// FlushAt is the number of queued calls that are sent without waiting for FlushAfter. Default 20; 1 sends each call
	// by itself. If more have gathered, more are sent together: up to 500 KB.
	FlushAt int
	// Size is the older name of FlushAt, used where that is 0.
	Size int
	// FlushAfter is how long a call waits for others. Default 5 s.
	FlushAfter time.Duration
	// QueueBytes limits the memory of calls that wait or are in flight. Default 32 MiB: some 60,000 calls of usual size.
	QueueBytes int
	// MaxInFlight is the number of concurrent requests. Default 4.
	MaxInFlight int
	// RetryFor is the time after which the client gives up a batch. Default 1 h.
	RetryFor time.Duration
	// NoGzip sends bodies uncompressed.
	NoGzip bool
	// OnDelivered, if set, receives each message that the server has accepted. It runs in a goroutine of the client,
	// which sends nothing until it returns.
	OnDelivered func(Message)
	// OnFailed, if set, receives each message that the client gave up, and why: *StatusError, *RejectedError, or a
	// network error. If it is not set, the client logs the failure.
	OnFailed func(Message, error)
	// HTTPClient makes the requests. Default: one with a timeout of 10 s.
	HTTPClient *http.Client
	// Logger receives failures, and with DEBUG=analytics in the environment every request. Default: the log package's.
	Logger *log.Logger

	writeKey string
	backoff  func(failed int) time.Duration
	once     sync.Once
	engine   *engine
}

// New creates a client for the source with this write key. You may change settings until the first call.
func New(writeKey string) *Client {
	return &Client{writeKey: writeKey, backoff: backoff}
}

// Identify queues the call, or returns why it cannot.
func (c *Client) Identify(call *Identify) error { return c.queueOrRefuse(call) }

// Track queues the call, or returns why it cannot.
func (c *Client) Track(call *Track) error { return c.queueOrRefuse(call) }

// Page queues the call, or returns why it cannot.
func (c *Client) Page(call *Page) error { return c.queueOrRefuse(call) }

// Screen queues the call, or returns why it cannot.
func (c *Client) Screen(call *Screen) error { return c.queueOrRefuse(call) }

// Group queues the call, or returns why it cannot.
func (c *Client) Group(call *Group) error { return c.queueOrRefuse(call) }

// Alias queues the call, or returns why it cannot.
func (c *Client) Alias(call *Alias) error { return c.queueOrRefuse(call) }

// Enqueue queues a call of any type. If the queue is full, it waits for room until ctx is done, and then returns the
// error of ctx. Use it for imports and other work that should slow down rather than lose a call.
func (c *Client) Enqueue(ctx context.Context, call Call) error {
	message, err := c.encoded(call)
	if err != nil {
		return err
	}
	for {
		room, err := c.engine.queue.push(message, time.Now())
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Client) queueOrRefuse(call Call) error {
	message, err := c.encoded(call)
	if err != nil {
		return err
	}
	_, err = c.engine.queue.push(message, time.Now())
	return err
}

func (c *Client) encoded(call Call) (Message, error) {
	if c.writeKey == "" {
		return Message{}, fmt.Errorf("%w: the client has no write key", ErrInvalidCall)
	}
	c.started()
	return encode(call, time.Now())
}

// Flush sends the queued calls and waits until each is delivered or given up. If ctx ends first, Flush returns its
// error and the client continues to send.
func (c *Client) Flush(ctx context.Context) error {
	return c.drained(ctx, false)
}

// Close accepts no more calls, sends the queued ones, and waits until each is delivered or given up. If ctx ends
// first, Close gives up the rest (OnFailed receives them) and returns its error. The client cannot be used again.
func (c *Client) Close(ctx context.Context) error {
	e := c.started()
	e.hurryOnce.Do(func() { close(e.hurry) })
	err := c.drained(ctx, true)
	left := e.queue.count()
	e.stop()
	if err != nil {
		return fmt.Errorf("analytics: %d calls were not delivered: %w", left, err)
	}
	return nil
}

func (c *Client) drained(ctx context.Context, closing bool) error {
	e := c.started()
	for {
		changed := e.queue.flush(closing)
		if changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// started returns the running part of the client. The first call creates it from the current settings.
func (c *Client) started() *engine {
	c.once.Do(func() {
		e := &engine{
			url:        strings.TrimRight(or(c.Endpoint, "http://localhost:8080"), "/") + "/v1/batch",
			writeKey:   c.writeKey,
			flushAfter: or(c.FlushAfter, 5*time.Second),
			retryFor:   or(c.RetryFor, time.Hour),
			gzip:       !c.NoGzip,
			http:       c.HTTPClient,
			delivered:  c.OnDelivered,
			failed:     c.OnFailed,
			logger:     c.Logger,
			debug:      strings.Contains(os.Getenv("DEBUG"), "analytics"),
			backoff:    c.backoff,
			queue:      newQueue(or(c.QueueBytes, 32<<20), or(c.FlushAt, or(c.Size, 20))),
			slots:      make(chan struct{}, or(c.MaxInFlight, 4)),
			hurry:      make(chan struct{}),
			ended:      make(chan struct{}),
		}
		if e.http == nil {
			e.http = defaultHTTPClient(cap(e.slots))
		}
		if e.logger == nil {
			e.logger = log.Default()
		}
		e.ctx, e.cancel = context.WithCancel(context.Background())
		go e.run()
		c.engine = e
	})
	return c.engine
}

// or returns the value, or its default if it is not set.
func or[T int | string | time.Duration](value, otherwise T) T {
	var unset T
	// Negative values make no sense either.
	if value <= unset {
		return otherwise
	}
	return value
}
