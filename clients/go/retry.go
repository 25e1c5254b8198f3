package analytics

import (
	"math/rand"
	"net/http"
	"strconv"
	"time"
)

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// A server that asks for more is broken or hostile: the client retries after this.
	maxRetryAfter = 5 * time.Minute
)

// canSucceedLater returns whether the same request can succeed later. All other refusals are final: 400 and 401 would
// only repeat.
func canSucceedLater(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired:
		return false
	}
	return status >= 500
}

// backoff returns the wait after this many failed tries: 0.5 s, doubling to 30 s, minus a random half so that many
// clients do not return together.
func backoff(failed int) time.Duration {
	full := maxBackoff
	if doublings := failed - 1; doublings < 6 {
		full = firstBackoff << doublings
	}
	return full/2 + time.Duration(rand.Int63n(int64(full/2)))
}

// retryAfter parses the header: seconds or a date. 0 if it is absent or invalid.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		wait = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	return max(0, min(wait, maxRetryAfter))
}
