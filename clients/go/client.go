// Package analytics sends analytics calls to a Waypost, or to any ingest of the same wire format.
//
//	client := analytics.New("WRITE_KEY")
//	client.Endpoint = "https://ingest.example.com"
//	err := client.Track(&analytics.Track{UserId: "u1", Event: "Order Completed"})
//	...
//	err = client.Close(ctx)
//
// A call returns at once: it is queued, and sent in the background with others, gzipped. What fails in a way that may
// pass is sent again under the same MessageId for as long as RetryFor. Memory is bounded by QueueBytes: beyond it a call
// returns ErrQueueFull, and Enqueue waits. Nothing is dropped silently: OnFailed hears of each message that is given up.
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

// Client queues calls and sends them. Its settings are read at the first call; changes after that have no effect. Its
// methods may be used by many goroutines at once.
type Client struct {
	// Endpoint is where ingest is. Default http://localhost:8080.
	Endpoint string
	// FlushAt is how many queued calls are sent at once, without waiting for FlushAfter. Default 20; 1 sends each call by
	// itself. More go together where more have gathered: up to 500 KB.
	FlushAt int
	// Size is the older name of FlushAt, used where that is 0.
	Size int
	// FlushAfter is how long a call waits for others. Default 5 s.
	FlushAfter time.Duration
	// QueueBytes bounds what is held in memory, being sent or waiting. Default 32 MiB: some 60,000 calls of usual size.
	QueueBytes int
	// MaxInFlight is how many requests are made at a time. Default 4.
	MaxInFlight int
	// RetryFor is how long a batch is tried before it is given up. Default 1 h.
	RetryFor time.Duration
	// NoGzip sends bodies as they are.
	NoGzip bool
	// OnDelivered, if set, hears of each message that the server has taken. Called from a goroutine of the client, which
	// sends nothing more meanwhile.
	OnDelivered func(Message)
	// OnFailed, if set, hears of each message that was given up, and why: *StatusError, *RejectedError, or what the
	// network said. If not set it is logged.
	OnFailed func(Message, error)
	// HTTPClient makes the requests. Default: one with a timeout of 10 s.
	HTTPClient *http.Client
	// Logger gets failures, and with DEBUG=analytics in the environment all that is done. Default: the log package's.
	Logger *log.Logger

	writeKey string
	backoff  func(failed int) time.Duration
	once     sync.Once
	engine   *engine
}

// New makes a client for the source with this write key. Settings may be changed until the first call.
func New(writeKey string) *Client {
	return &Client{writeKey: writeKey, backoff: backoff}
}

// Identify queues the call, or says why not.
func (c *Client) Identify(call *Identify) error { return c.queueOrRefuse(call) }

// Track queues the call, or says why not.
func (c *Client) Track(call *Track) error { return c.queueOrRefuse(call) }

// Page queues the call, or says why not.
func (c *Client) Page(call *Page) error { return c.queueOrRefuse(call) }

// Screen queues the call, or says why not.
func (c *Client) Screen(call *Screen) error { return c.queueOrRefuse(call) }

// Group queues the call, or says why not.
func (c *Client) Group(call *Group) error { return c.queueOrRefuse(call) }

// Alias queues the call, or says why not.
func (c *Client) Alias(call *Alias) error { return c.queueOrRefuse(call) }

// Enqueue queues a call of any type. Where the queue is full it waits for room until ctx is done, and then returns the
// error of ctx: for imports and all else that would rather be slow than lose a call.
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

// Flush sends what is queued and waits until all of it is delivered or given up. With an error of ctx it is sent on in
// the background.
func (c *Client) Flush(ctx context.Context) error {
	return c.drained(ctx, false)
}

// Close takes no more calls, sends what is queued, and waits until all of it is delivered or given up. When ctx is done
// before, the rest is given up (OnFailed hears of it) and its error is returned. The client cannot be used again.
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

// started gives the running part of the client, made at the first call from the settings of that moment.
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

// or is the value, or what stands for it where it is not set.
func or[T int | string | time.Duration](value, otherwise T) T {
	var unset T
	// Nothing below it makes sense either.
	if value <= unset {
		return otherwise
	}
	return value
}
