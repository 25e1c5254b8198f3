package analytics

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Message is a queued call.
type Message struct {
	Type      string
	MessageId string
	// JSON is the call as sent, without its sentAt.
	JSON json.RawMessage

	// live: the client set the time of the call, so the server corrects it by its own clock. A Timestamp from the caller
	// stays as it is.
	live bool
}

// Each try writes a new sentAt into each live message: the server corrects the time of a call by its age when it was
// sent.
const sentAtBytes = len(`,"sentAt":"2006-01-02T15:04:05.000Z"`)

func (m Message) sentBytes() int {
	if m.live {
		return len(m.JSON) + sentAtBytes
	}
	return len(m.JSON)
}

// appendTo writes the message as an element of a batch.
func (m Message) appendTo(body []byte, sentAt string) []byte {
	if !m.live {
		return append(body, m.JSON...)
	}
	body = append(body, m.JSON[:len(m.JSON)-1]...)
	body = append(body, `,"sentAt":"`...)
	body = append(body, sentAt...)
	return append(body, `"}`...)
}

// Errors of a call.
var (
	// ErrInvalidCall: a required field is missing, or a value cannot be JSON. The call was not queued.
	ErrInvalidCall = errors.New("analytics: invalid call")
	// ErrTooLarge: the call has more than 32 KB. It was not queued.
	ErrTooLarge = errors.New("analytics: call too large")
	// ErrQueueFull: calls of QueueBytes wait for delivery. The call was not queued.
	ErrQueueFull = errors.New("analytics: queue full")
	// ErrClosed: the client is closed. The call was not queued.
	ErrClosed = errors.New("analytics: client closed")
)

// RejectedError is the reason why the server accepted the batch but not this call.
type RejectedError struct {
	Code    string
	Message string
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("analytics: rejected (%s): %s", e.Code, e.Message)
}

// StatusError is a response other than success.
type StatusError struct {
	Status  int
	Code    string
	Message string
}

func (e *StatusError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("analytics: status %d", e.Status)
	}
	return fmt.Sprintf("analytics: status %d (%s): %s", e.Status, e.Code, e.Message)
}

// newId returns a random UUID.
func newId() string {
	var id [16]byte
	// This cannot fail on any system that Go supports today.
	if _, err := rand.Read(id[:]); err != nil {
		panic("analytics: no randomness: " + err.Error())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
