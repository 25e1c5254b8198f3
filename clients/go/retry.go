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
	// A server that asks for more is broken or hostile; it is asked again after this.
	maxRetryAfter = 5 * time.Minute
)

// canSucceedLater tells whether the same request may be taken another time. All other refusals are final: 400 and 401
// would be the same answer again.
func canSucceedLater(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired:
		return false
	}
	return status >= 500
}

// backoff is how long to wait after that many failed tries: 0.5 s doubling to 30 s, of which a random half is left out
// so that many clients do not come back at once.
func backoff(failed int) time.Duration {
	full := maxBackoff
	if doublings := failed - 1; doublings < 6 {
		full = firstBackoff << doublings
	}
	return full/2 + time.Duration(rand.Int63n(int64(full/2)))
}

// retryAfter reads the header: seconds or a date. 0 where it says nothing.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		wait = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	return max(0, min(wait, maxRetryAfter))
}
