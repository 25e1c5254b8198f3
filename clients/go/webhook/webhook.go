// Package webhook verifies that the sender of a webhook knows the shared secret.
//
//	verifier := webhook.New("the shared secret")
//	http.HandleFunc("/hook", func(w http.ResponseWriter, r *http.Request) {
//		event, err := verifier.Read(r)
//		if err != nil {
//			http.Error(w, err.Error(), http.StatusUnauthorized)
//			return
//		}
//		...
//	})
//
// A request carries two signatures. `webhook-signature` (https://www.standardwebhooks.com) covers the body, its id and
// its timestamp; `X-Signature` covers only the body, so a captured request can be replayed forever.
package webhook

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Scheme selects the signature that counts.
type Scheme int

const (
	// Standard: `webhook-signature`, within the tolerance. X-Signature is ignored.
	Standard Scheme = iota
	// XSignature: `X-Signature` alone, for requests that lost their other headers on the way. An attacker can replay
	// them.
	XSignature
	// Any: `webhook-signature` if the request has one, otherwise `X-Signature`. As weak as XSignature.
	Any
)

const (
	defaultTolerance = 5 * time.Minute
	// A call has at most 32 KB; the rest of the body is far smaller than this.
	maxBodyBytes = 1 << 20

	secretPrefix    = "whsec_"
	signaturePrefix = "v1,"
)

// Reasons to refuse a request.
var (
	ErrNoSecret     = errors.New("webhook: there is no secret to check with")
	ErrNoSignature  = errors.New("webhook: the request has no signature of the wanted scheme")
	ErrNoTimestamp  = errors.New("webhook: webhook-timestamp is no number of seconds")
	ErrTooOld       = errors.New("webhook: the request is older than the tolerance")
	ErrTooNew       = errors.New("webhook: the request is from the future, beyond the tolerance")
	ErrBadSignature = errors.New("webhook: no signature matches")
	ErrBodyTooLarge = errors.New("webhook: the body is too large")
)

// Verifier verifies requests. It is safe for concurrent use.
type Verifier struct {
	// Secrets that verify: the current one, and during a rotation the one before or after it.
	Secrets []string
	// Tolerance is how far webhook-timestamp may be from now. Zero or less means the default of 5 minutes.
	Tolerance time.Duration
	Scheme    Scheme
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Event is a request that was verified.
type Event struct {
	// Id is the same each time this event is sent: drop an id that you have handled. Empty if only X-Signature was
	// verified, which does not cover it.
	Id string
	// Body is exactly the signed bytes.
	Body json.RawMessage
}

// New creates a verifier for Standard signatures by any of the secrets.
func New(secrets ...string) *Verifier {
	return &Verifier{Secrets: secrets}
}

// Read reads the body of a request and verifies it.
func (v *Verifier) Read(r *http.Request) (Event, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return Event{}, fmt.Errorf("webhook: the body cannot be read: %w", err)
	}
	if len(body) > maxBodyBytes {
		return Event{}, ErrBodyTooLarge
	}
	return v.Verify(r.Header, body)
}

// Verify verifies a request. Pass the body exactly as it arrived: parsed and serialized again it has another
// signature.
func (v *Verifier) Verify(header http.Header, body []byte) (Event, error) {
	if len(v.Secrets) == 0 {
		return Event{}, ErrNoSecret
	}
	for _, secret := range v.Secrets {
		// Anyone could sign with an empty key.
		if secret == "" {
			return Event{}, ErrNoSecret
		}
	}
	standard := header.Get("webhook-signature")
	if v.Scheme == Standard || v.Scheme == Any && standard != "" {
		return v.standard(header, standard, body)
	}
	signature := header.Get("X-Signature")
	if signature == "" {
		return Event{}, ErrNoSignature
	}
	given, err := hex.DecodeString(signature)
	if err != nil {
		return Event{}, ErrBadSignature
	}
	for _, secret := range v.Secrets {
		mac := hmac.New(sha1.New, []byte(secret))
		mac.Write(body)
		if hmac.Equal(mac.Sum(nil), given) {
			return Event{Body: body}, nil
		}
	}
	return Event{}, ErrBadSignature
}

func (v *Verifier) standard(header http.Header, signatures string, body []byte) (Event, error) {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if signatures == "" || id == "" {
		return Event{}, ErrNoSignature
	}
	if err := v.checkTime(timestamp); err != nil {
		return Event{}, err
	}
	for _, secret := range v.Secrets {
		mac := hmac.New(sha256.New, standardKey(secret))
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		want := []byte(signaturePrefix + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, signature := range strings.Fields(signatures) {
			if hmac.Equal(want, []byte(signature)) {
				return Event{Id: id, Body: body}, nil
			}
		}
	}
	return Event{}, ErrBadSignature
}

func (v *Verifier) checkTime(timestamp string) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrNoTimestamp
	}
	now, tolerance := time.Now, v.Tolerance
	if v.Now != nil {
		now = v.Now
	}
	if tolerance <= 0 {
		tolerance = defaultTolerance
	}
	switch sent := time.Unix(seconds, 0); {
	case sent.Before(now().Add(-tolerance)):
		return ErrTooOld
	case sent.After(now().Add(tolerance)):
		return ErrTooNew
	}
	return nil
}

// standardKey decodes a secret: `whsec_…` is base64, any other secret is its own text.
func standardKey(secret string) []byte {
	if text, is := strings.CutPrefix(secret, secretPrefix); is {
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}
