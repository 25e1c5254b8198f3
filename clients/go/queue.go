package analytics

import (
	"sync"
	"time"
)

const (
	// An ingest of this format accepts 500 KB; this leaves room for the envelope.
	maxBatchBytes = 500_000 - 1_000
	maxBatchCalls = 2_500
	// Memory of a queued message beyond its text.
	messageOverhead = 100
)

// queue holds the calls that wait. It counts each until it is delivered or given up, and so bounds the memory.
type queue struct {
	maxBytes int
	flushAt  int

	mu       sync.Mutex
	waiting  []Message
	since    time.Time // when the first waiting call came
	bytes    int       // size of every call, also in flight
	held     int       // number of these calls
	flushing bool      // every waiting call is due now
	closed   bool
	changed  chan struct{} // closed when a call has left, then replaced
	wake     chan struct{} // wakes the loop when a batch may be due
}

func newQueue(maxBytes, flushAt int) *queue {
	return &queue{maxBytes: maxBytes, flushAt: flushAt, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// push queues the message, or returns why it cannot. With ErrQueueFull it also returns a channel that is closed when
// there may be room.
func (q *queue) push(m Message, now time.Time) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	size := m.sentBytes() + messageOverhead
	// One message always fits, because a small limit would refuse it forever.
	if q.held > 0 && q.bytes+size > q.maxBytes {
		q.flushing = len(q.waiting) > 0
		q.rouse()
		return q.changed, ErrQueueFull
	}
	q.bytes += size
	q.held++
	q.waiting = append(q.waiting, m)
	if len(q.waiting) == 1 {
		q.since = now
	}
	if len(q.waiting) == 1 || len(q.waiting) == q.flushAt {
		q.rouse()
	}
	return nil, nil
}

// due returns the time until the next batch is due; negative if nothing waits.
func (q *queue) due(now time.Time, flushAfter time.Duration) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return -1
	}
	if q.flushing || len(q.waiting) >= q.flushAt {
		return 0
	}
	return max(0, flushAfter-now.Sub(q.since))
}

// take returns the next batch: all waiting calls, up to the limits of a request. FlushAt 1 sends each call by itself.
func (q *queue) take() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := maxBatchCalls
	if q.flushAt == 1 {
		limit = 1
	}
	n, bytes := 0, 0
	for n < len(q.waiting) && n < limit {
		bytes += q.waiting[n].sentBytes() + 1
		if n > 0 && bytes > maxBatchBytes {
			break
		}
		n++
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting, q.flushing = nil, false
	}
	return batch
}

// settle removes a batch that was delivered or given up.
func (q *queue) settle(batch []Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, m := range batch {
		q.bytes -= m.sentBytes() + messageOverhead
		// The batch shares its array with the calls that still wait: its texts would stay in memory as long.
		batch[i] = Message{}
	}
	q.held -= len(batch)
	close(q.changed)
	q.changed = make(chan struct{})
}

// flush makes all waiting calls due; with closing the queue accepts no more. The returned channel is closed at the
// next change; it is nil if the queue is empty.
func (q *queue) flush(closing bool) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = q.closed || closing
	if q.held == 0 {
		return nil
	}
	q.flushing = len(q.waiting) > 0
	q.rouse()
	return q.changed
}

// count returns the number of calls that wait or are in flight.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default: // the loop is already awake
	}
}
