package analytics

import (
	"context"
	"errors"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxHurriedBackoff is the longest wait between tries after Close has begun: its caller has little time.
const maxHurriedBackoff = time.Second

// engine is the running part of a client: one loop that takes batches from the queue, and a goroutine for each request.
type engine struct {
	url        string
	writeKey   string
	flushAfter time.Duration
	retryFor   time.Duration
	gzip       bool
	http       *http.Client
	delivered  func(Message)
	failed     func(Message, error)
	logger     *log.Logger
	debug      bool
	backoff    func(failed int) time.Duration

	queue *queue
	slots chan struct{} // one for each concurrent request
	// notBefore, in Unix nanoseconds: the server asked for no request before then, which holds for every batch.
	notBefore atomic.Int64

	hurryOnce sync.Once
	hurry     chan struct{} // closed when Close begins
	ctx       context.Context
	cancel    context.CancelFunc
	ended     chan struct{} // closed when the loop and all requests have ended
}

func (e *engine) run() {
	var sending sync.WaitGroup
	defer close(e.ended)
	defer sending.Wait()
	for e.untilDue() {
		// Take the slot before the batch: while all slots are busy, calls gather into larger batches.
		select {
		case e.slots <- struct{}{}:
		case <-e.ctx.Done():
			return
		}
		batch := e.queue.take()
		sending.Add(1)
		go func() {
			defer sending.Done()
			e.deliver(batch)
			<-e.slots
		}()
	}
}

// untilDue waits until a batch is due; false when the client ends.
func (e *engine) untilDue() bool {
	for {
		wait := e.queue.due(time.Now(), e.flushAfter)
		if wait == 0 {
			return true
		}
		if wait < 0 {
			wait = time.Hour // nothing waits: the wake channel reports new calls
		}
		timer := time.NewTimer(wait)
		select {
		case <-e.queue.wake:
		case <-timer.C:
		case <-e.ctx.Done():
		}
		timer.Stop()
		if e.ctx.Err() != nil {
			return false
		}
	}
}

// stop ends all requests and gives up the rest.
func (e *engine) stop() {
	e.cancel()
	<-e.ended
	for {
		batch := e.queue.take()
		if len(batch) == 0 {
			return
		}
		e.giveUp(batch, ErrClosed)
	}
}

// deliver sends a batch until the server accepts it or the client gives it up.
func (e *engine) deliver(batch []Message) {
	began := time.Now()
	for tries := 1; ; tries++ {
		if !e.pause(time.Until(time.Unix(0, e.notBefore.Load()))) {
			e.giveUp(batch, ErrClosed)
			return
		}
		rejected, err := e.post(batch)
		if err == nil {
			e.conclude(batch, rejected)
			return
		}
		wait, again := e.judge(err, tries)
		if !again || time.Since(began)+wait > e.retryFor {
			e.giveUp(batch, err)
			return
		}
		e.debugf("%d calls wait %v for their try %d: %v", len(batch), wait, tries+1, err)
		if !e.rest(wait) {
			e.giveUp(batch, err)
			return
		}
	}
}

// judge returns whether to send again, and after how long.
func (e *engine) judge(err error, tries int) (time.Duration, bool) {
	var refused *refusal
	if !errors.As(err, &refused) {
		// No response: a network failure, or the server is away.
		return e.backoff(tries), e.ctx.Err() == nil
	}
	if !canSucceedLater(refused.status.Status) {
		return 0, false
	}
	if refused.retryAfter > 0 {
		e.holdUntil(time.Now().Add(refused.retryAfter))
		return refused.retryAfter, true
	}
	return e.backoff(tries), true
}

func (e *engine) holdUntil(t time.Time) {
	for {
		old := e.notBefore.Load()
		if old >= t.UnixNano() || e.notBefore.CompareAndSwap(old, t.UnixNano()) {
			return
		}
	}
}

// rest waits before the next try; after Close has begun, at most maxHurriedBackoff. False when the client ends.
func (e *engine) rest(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.ctx.Done():
		return false
	case <-e.hurry:
		return e.pause(min(wait, maxHurriedBackoff))
	}
}

func (e *engine) pause(wait time.Duration) bool {
	if wait <= 0 {
		return e.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}

// conclude reports a batch that the server has accepted, except the calls that it rejected.
func (e *engine) conclude(batch []Message, rejected map[int]*RejectedError) {
	e.debugf("%d calls delivered, %d rejected", len(batch)-len(rejected), len(rejected))
	for i, m := range batch {
		if fault, is := rejected[i]; is {
			e.fail(m, fault)
		} else if e.delivered != nil {
			e.delivered(m)
		}
	}
	e.queue.settle(batch)
}

func (e *engine) giveUp(batch []Message, err error) {
	var refused *refusal
	if errors.As(err, &refused) {
		err = refused.status
	}
	if e.failed == nil {
		calls := "calls"
		if len(batch) == 1 {
			calls = "call"
		}
		e.logger.Printf("analytics: gave up %d %s: %v", len(batch), calls, err)
	}
	for _, m := range batch {
		if e.failed != nil {
			e.failed(m, err)
		}
	}
	e.queue.settle(batch)
}

func (e *engine) fail(m Message, err error) {
	if e.failed != nil {
		e.failed(m, err)
		return
	}
	e.logger.Printf("analytics: %s %s is given up: %v", m.Type, m.MessageId, err)
}

func (e *engine) debugf(format string, args ...interface{}) {
	if e.debug {
		e.logger.Printf("analytics: "+format, args...)
	}
}
