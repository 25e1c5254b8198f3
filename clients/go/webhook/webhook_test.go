package webhook_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waypost/waypost/clients/go/webhook"
)

const (
	secret = "gehëim-秘密"
	body   = `{"version":1,"type":"track","event":"Ünïcode 😀"}`
)

var sent = time.Unix(1_795_259_669, 0)

func standard(key []byte, id, timestamp, body string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func xSignature(secret, body string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// signed returns the headers of a request as Waypost sends it.
func signed(secret, body string) http.Header {
	timestamp := strconv.FormatInt(sent.Unix(), 10)
	header := http.Header{}
	header.Set("webhook-id", "dlv_1")
	header.Set("webhook-timestamp", timestamp)
	header.Set("webhook-signature", standard([]byte(secret), "dlv_1", timestamp, body))
	header.Set("X-Signature", xSignature(secret, body))
	return header
}

func with(header http.Header, name, value string) http.Header {
	changed := header.Clone()
	if value == "" {
		changed.Del(name)
	} else {
		changed.Set(name, value)
	}
	return changed
}

func TestVerify(t *testing.T) {
	good := signed(secret, body)
	onlyX := with(good, "webhook-signature", "")
	after := func(d time.Duration) func() time.Time { return func() time.Time { return sent.Add(d) } }
	rows := []struct {
		name     string
		verifier webhook.Verifier
		header   http.Header
		body     string
		want     error
	}{
		{"as sent", webhook.Verifier{}, good, body, nil},
		{"another body", webhook.Verifier{}, good, body + " ", webhook.ErrBadSignature},
		{"another id", webhook.Verifier{}, with(good, "webhook-id", "dlv_2"), body, webhook.ErrBadSignature},
		{"another time", webhook.Verifier{}, with(good, "webhook-timestamp", "1795259670"), body, webhook.ErrBadSignature},
		{"another secret", webhook.Verifier{Secrets: []string{"other"}}, good, body, webhook.ErrBadSignature},
		{"one of two secrets", webhook.Verifier{Secrets: []string{"new", secret}}, good, body, nil},
		{"one of two signatures", webhook.Verifier{}, with(good, "webhook-signature", "v1,AAAA "+good.Get("webhook-signature")), body, nil},
		{"an unknown version", webhook.Verifier{}, with(good, "webhook-signature", "v2"+good.Get("webhook-signature")[2:]), body, webhook.ErrBadSignature},
		{"at the end of the tolerance", webhook.Verifier{Now: after(5 * time.Minute)}, good, body, nil},
		{"past it", webhook.Verifier{Now: after(5*time.Minute + time.Second)}, good, body, webhook.ErrTooOld},
		{"from the future", webhook.Verifier{Now: after(-5*time.Minute - time.Second)}, good, body, webhook.ErrTooNew},
		{"a tolerance of its own", webhook.Verifier{Now: after(time.Hour), Tolerance: time.Hour}, good, body, nil},
		{"no time", webhook.Verifier{}, with(good, "webhook-timestamp", ""), body, webhook.ErrNoTimestamp},
		{"no id", webhook.Verifier{}, with(good, "webhook-id", ""), body, webhook.ErrNoSignature},
		{"X-Signature alone is not enough", webhook.Verifier{}, onlyX, body, webhook.ErrNoSignature},
		{"X-Signature alone where it is wanted", webhook.Verifier{Scheme: webhook.XSignature}, onlyX, body, nil},
		{"X-Signature where any will do", webhook.Verifier{Scheme: webhook.Any}, onlyX, body, nil},
		{"X-Signature of another body", webhook.Verifier{Scheme: webhook.Any}, onlyX, body + " ", webhook.ErrBadSignature},
		{"X-Signature that is no hex", webhook.Verifier{Scheme: webhook.Any}, with(onlyX, "X-Signature", "zz"), body, webhook.ErrBadSignature},
		{"a wrong Standard one, where any will do", webhook.Verifier{Scheme: webhook.Any}, with(good, "webhook-signature", "v1,AAAA"), body, webhook.ErrBadSignature},
		{"no signature at all", webhook.Verifier{Scheme: webhook.Any}, http.Header{}, body, webhook.ErrNoSignature},
		{"no secret", webhook.Verifier{Secrets: []string{}}, good, body, webhook.ErrNoSecret},
		{"an empty secret", webhook.Verifier{Secrets: []string{secret, ""}}, good, body, webhook.ErrNoSecret},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.verifier.Secrets == nil {
				row.verifier.Secrets = []string{secret}
			}
			if row.verifier.Now == nil {
				row.verifier.Now = func() time.Time { return sent }
			}
			event, err := row.verifier.Verify(row.header, []byte(row.body))
			if !errors.Is(err, row.want) {
				t.Fatalf("got %v, want %v", err, row.want)
			}
			if err == nil && string(event.Body) != row.body {
				t.Errorf("body %s", event.Body)
			}
			if err == nil && (event.Id == "dlv_1") != (row.header.Get("webhook-signature") != "") {
				t.Errorf("id %q", event.Id)
			}
		})
	}
}

func TestAStandardSecretIsDecoded(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	encoded := base64.StdEncoding.EncodeToString(key)
	header := signed(secret, body)
	header.Set("webhook-signature", standard(key, "dlv_1", header.Get("webhook-timestamp"), body))
	for _, text := range []string{encoded, strings.TrimRight(encoded, "=")} {
		v := webhook.New("whsec_" + text)
		v.Now = func() time.Time { return sent }
		if _, err := v.Verify(header, []byte(body)); err != nil {
			t.Error(err)
		}
	}
}

func TestReadRefusesAnEndlessBody(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 1<<20+1)))
	if _, err := webhook.New(secret).Read(request); !errors.Is(err, webhook.ErrBodyTooLarge) {
		t.Error(err)
	}
}

// Requests signed by Waypost itself, one JSON object a line: {secret, headers, body}. The repository's tests set it.
func TestWhatWaypostSigned(t *testing.T) {
	file := os.Getenv("WAYPOST_SIGNED_REQUESTS")
	if file == "" {
		t.Skip("WAYPOST_SIGNED_REQUESTS is not set")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var requests []struct {
		Secret  string
		Headers map[string]string
		Body    string
	}
	if err := json.Unmarshal(text, &requests); err != nil || len(requests) == 0 {
		t.Fatalf("%v in %s", err, text)
	}
	for _, request := range requests {
		header := http.Header{}
		for name, value := range request.Headers {
			header.Set(name, value)
		}
		for _, scheme := range []webhook.Scheme{webhook.Standard, webhook.XSignature} {
			v := webhook.Verifier{Secrets: []string{request.Secret}, Scheme: scheme}
			if _, err := v.Verify(header, []byte(request.Body)); err != nil {
				t.Errorf("%s: %v", fmt.Sprint(request), err)
			}
		}
	}
}
