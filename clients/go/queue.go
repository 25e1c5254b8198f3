package analytics

import (
	"sync"
	"time"
)

const (
	// 500 KB is what an ingest of this format takes; the envelope is counted in.
	maxBatchBytes = 500_000 - 1_000
	maxBatchCalls = 2_500
	// What a queued message costs beside its text.
	messageOverhead = 100
)

// queue holds what waits to be sent, and counts it until it is delivered or given up: that is what bounds the memory.
type queue struct {
	maxBytes int
	flushAt  int

	mu       sync.Mutex
	waiting  []Message
	since    time.Time // when the first of waiting came
	bytes    int       // of all that is held, in flight too
	held     int       // how many these are
	flushing bool      // what waits is due now, however little it is
	closed   bool
	changed  chan struct{} // closed when something has left, and made anew
	wake     chan struct{} // tells the loop that something may be due
}

func newQueue(maxBytes, flushAt int) *queue {
	return &queue{maxBytes: maxBytes, flushAt: flushAt, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// push takes the message, or says why not. With ErrQueueFull comes a channel that is closed when there may be room.
func (q *queue) push(m Message, now time.Time) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	size := m.sentBytes() + messageOverhead
	// One message fits always, else a small limit would refuse it for ever.
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

// due tells how long until something is to be sent; negative where nothing waits.
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

// take gives the next batch: all that waits, up to what one request may carry. FlushAt 1 means each call by itself.
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

// settle forgets a batch that was delivered or given up.
func (q *queue) settle(batch []Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, m := range batch {
		q.bytes -= m.sentBytes() + messageOverhead
		// The batch lies in the same memory as what still waits: its texts would live as long.
		batch[i] = Message{}
	}
	q.held -= len(batch)
	close(q.changed)
	q.changed = make(chan struct{})
}

// flush makes all that waits due, and with closing takes nothing more. The channel is closed at the next change, nil
// where nothing is held.
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

// count tells how many are held.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default: // it has been told already
	}
}
