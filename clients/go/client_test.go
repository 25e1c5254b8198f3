package analytics

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ingest is a server with scripted responses that records its requests.
type ingest struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	answer   func(nth int, w http.ResponseWriter, r request)
}

type request struct {
	head http.Header
	path string
	size int
	body struct {
		Batch   []map[string]any
		Context map[string]any
		SentAt  *string
	}
}

func startIngest(t *testing.T, answer func(nth int, w http.ResponseWriter, r request)) *ingest {
	t.Helper()
	in := &ingest{answer: answer}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := request{head: r.Header, path: r.URL.Path}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unzipped, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unzipped
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return // the client went away
		}
		got.size = len(text)
		if err := json.Unmarshal(text, &got.body); err != nil {
			t.Errorf("%v in %s", err, text)
		}
		in.mu.Lock()
		nth := len(in.requests)
		in.requests = append(in.requests, got)
		in.mu.Unlock()
		if in.answer == nil {
			fmt.Fprint(w, `{"success":true}`)
		} else {
			in.answer(nth, w, got)
		}
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *ingest) received() []request {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]request(nil), in.requests...)
}

func (in *ingest) ids() []string {
	var ids []string
	for _, r := range in.received() {
		for _, call := range r.body.Batch {
			ids = append(ids, call["messageId"].(string))
		}
	}
	return ids
}

func status(code int, headers ...string) func(int, http.ResponseWriter, request) {
	return func(_ int, w http.ResponseWriter, _ request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, `{"success":false,"code":"some_code","message":"Some words."}`)
	}
}

// heard collects the messages that the callbacks receive.
type heard struct {
	mu        sync.Mutex
	delivered []string
	failed    map[string]error
}

func (h *heard) attach(c *Client) *heard {
	h.failed = map[string]error{}
	c.OnDelivered = func(m Message) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.delivered = append(h.delivered, m.MessageId)
	}
	c.OnFailed = func(m Message, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed[m.MessageId] = err
	}
	return h
}

func client(in *ingest) *Client {
	c := New("key")
	c.Endpoint = in.URL
	c.FlushAfter = time.Millisecond
	c.backoff = func(int) time.Duration { return time.Millisecond }
	return c
}

func closed(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func aTrack(id string) *Track { return &Track{UserId: "u", Event: "Bought", MessageId: id} }

func TestEachTypeOnTheWire(t *testing.T) {
	in := startIngest(t, nil)
	c := client(in)
	object := Object{"key": "value <&>"}
	calls := []struct {
		call Call
		want string
	}{
		{&Identify{UserId: "u", Traits: object}, `{"type":"identify","userId":"u","traits":{"key":"value <&>"}}`},
		{&Track{AnonymousId: "a", Event: "E", Properties: object}, `{"type":"track","anonymousId":"a","event":"E","properties":{"key":"value <&>"}}`},
		{&Page{UserId: "u", Category: "C", Name: "N", Traits: object}, `{"type":"page","userId":"u","category":"C","name":"N","properties":{"key":"value <&>"}}`},
		{&Screen{UserId: "u", Name: "N", Properties: object}, `{"type":"screen","userId":"u","name":"N","properties":{"key":"value <&>"}}`},
		{&Group{UserId: "u", GroupId: "g", Traits: object}, `{"type":"group","userId":"u","groupId":"g","traits":{"key":"value <&>"}}`},
		{&Alias{UserId: "u", PreviousId: "p"}, `{"type":"alias","userId":"u","previousId":"p"}`},
		{&Alias{UserId: "u", PreviousId: "p", Integrations: Object{"All": false}}, `{"type":"alias","userId":"u","previousId":"p","context":{"integrations":{"All":false}}}`},
		{
			&Track{UserId: "u", Event: "E", Integrations: Object{"All": true}, Context: Object{"ip": "::1", "integrations": Object{"All": false, "X": true}}},
			`{"type":"track","userId":"u","event":"E","context":{"ip":"::1","integrations":{"All":true,"X":true}}}`,
		},
	}
	for _, row := range calls {
		must(t, c.Enqueue(context.Background(), row.call))
		must(t, c.Flush(context.Background()))
	}
	closed(t, c)
	requests := in.received()
	if len(requests) != len(calls) {
		t.Fatalf("%d requests for %d calls", len(requests), len(calls))
	}
	for i, r := range requests {
		var want map[string]any
		must(t, json.Unmarshal([]byte(calls[i].want), &want))
		got := r.body.Batch[0]
		for _, own := range []string{"messageId", "originalTimestamp", "sentAt"} {
			if text, is := got[own].(string); !is || text == "" {
				t.Errorf("%s of %v", own, got)
			}
			delete(got, own)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if user, password, ok := (&http.Request{Header: r.head}).BasicAuth(); !ok || user != "key" || password != "" {
			t.Errorf("authorization %v", r.head)
		}
		library := r.body.Context["library"].(map[string]any)
		if r.path != "/v1/batch" || r.head.Get("Content-Type") != "application/json" || library["name"] != "waypost-go" {
			t.Errorf("%s %v %v", r.path, r.head, r.body.Context)
		}
	}
}

func TestShorthandsQueue(t *testing.T) {
	in := startIngest(t, nil)
	c := client(in)
	must(t, c.Identify(&Identify{UserId: "u"}))
	must(t, c.Track(&Track{UserId: "u", Event: "E"}))
	must(t, c.Page(&Page{AnonymousId: "a"}))
	must(t, c.Screen(&Screen{UserId: "u"}))
	must(t, c.Group(&Group{UserId: "u", GroupId: "g"}))
	must(t, c.Alias(&Alias{UserId: "u", PreviousId: "p"}))
	closed(t, c)
	types := map[any]int{}
	for _, r := range in.received() {
		for _, call := range r.body.Batch {
			types[call["type"]]++
		}
	}
	if len(types) != 6 {
		t.Errorf("types %v", types)
	}
}

func TestATimestampGivenStandsAsItIs(t *testing.T) {
	in := startIngest(t, nil)
	c := client(in)
	must(t, c.Track(&Track{UserId: "u", Event: "E", Timestamp: "2012-12-02T00:30:08.276Z"}))
	closed(t, c)
	call := in.received()[0].body.Batch[0]
	if call["timestamp"] != "2012-12-02T00:30:08.276Z" || call["sentAt"] != nil || call["originalTimestamp"] != nil {
		t.Errorf("%v", call)
	}
	if in.received()[0].body.SentAt != nil {
		t.Error("the envelope's sentAt would move the time that was given")
	}
}

func TestInvalidCallsAreReturned(t *testing.T) {
	rows := []struct {
		name string
		call Call
		want error
		says string
	}{
		{"nobody", &Track{Event: "E"}, ErrInvalidCall, "UserId or AnonymousId"},
		{"no event", &Track{UserId: "u"}, ErrInvalidCall, "Event"},
		{"no group", &Group{UserId: "u"}, ErrInvalidCall, "GroupId"},
		{"no previous id", &Alias{UserId: "u"}, ErrInvalidCall, "PreviousId"},
		{"alias of nobody", &Alias{PreviousId: "p"}, ErrInvalidCall, "UserId"},
		{"page of nobody", &Page{Name: "N"}, ErrInvalidCall, "UserId or AnonymousId"},
		{"screen of nobody", &Screen{Name: "N"}, ErrInvalidCall, "UserId or AnonymousId"},
		{"identify of nobody", &Identify{}, ErrInvalidCall, "UserId or AnonymousId"},
		{"nil", (*Track)(nil), ErrInvalidCall, "nil"},
		{"nothing", nil, ErrInvalidCall, "nil"},
		{"not JSON", &Track{UserId: "u", Event: "E", Properties: Object{"f": func() {}}}, ErrInvalidCall, "func"},
		{"long id", aTrack(strings.Repeat("x", 100)), ErrInvalidCall, "100"},
		{"no time", &Page{UserId: "u", Timestamp: "yesterday"}, ErrInvalidCall, "yesterday"},
		{"a month of one digit", &Page{UserId: "u", Timestamp: "2015-2-02T00:00:00Z"}, ErrInvalidCall, "2015-2"},
		{"large", &Identify{UserId: "u", Traits: Object{"x": strings.Repeat("x", 32*1024)}}, ErrTooLarge, "32768"},
	}
	in := startIngest(t, nil)
	c := client(in)
	for _, row := range rows {
		if err := c.Enqueue(context.Background(), row.call); !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if err := New("").Track(aTrack("1")); !errors.Is(err, ErrInvalidCall) {
		t.Errorf("no write key: %v", err)
	}
	closed(t, c)
	if n := len(in.received()); n != 0 {
		t.Errorf("%d requests", n)
	}
	if err := c.Track(aTrack("1")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTimesThatAreTaken(t *testing.T) {
	for _, text := range []string{"2012-12-02T00:30:08.276Z", "2012-12-02T00:30:08Z", "2012-12-02T00:30:08.123456789+01:00",
		"2026-11-21T08:19:06+0000", "2012-12-02T00:30:08", "2012-12-02"} {
		if !isTime(text) {
			t.Error(text)
		}
	}
}

func TestTheLargestCallIsTaken(t *testing.T) {
	in := startIngest(t, nil)
	c := client(in)
	call := aTrack("id")
	m, err := encode(call, time.Now())
	must(t, err)
	call.Properties = Object{"x": strings.Repeat("x", maxCallBytes-m.sentBytes()-len(`,"properties":{"x":""}`))}
	must(t, c.Track(call))
	call.Event += "!"
	if err := c.Track(call); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	closed(t, c)
	text, err := json.Marshal(in.received()[0].body.Batch[0])
	must(t, err)
	if len(text) != maxCallBytes {
		t.Errorf("%d bytes", len(text))
	}
}

func TestWhenBatchesAreSent(t *testing.T) {
	long := time.Hour
	rows := []struct {
		name  string
		set   func(*Client)
		calls int
		sizes []int
	}{
		{"FlushAt by default", func(c *Client) { c.FlushAfter = long }, 20, []int{20}},
		{"FlushAt", func(c *Client) { c.FlushAfter, c.FlushAt = long, 3 }, 3, []int{3}},
		{"Size, its older name", func(c *Client) { c.FlushAfter, c.Size = long, 3 }, 3, []int{3}},
		{"each at once", func(c *Client) { c.FlushAfter, c.FlushAt, c.MaxInFlight = long, 1, 1 }, 3, []int{1, 1, 1}},
		{"FlushAfter", func(c *Client) { c.FlushAfter, c.FlushAt = 10*time.Millisecond, 100 }, 2, []int{2}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := startIngest(t, nil)
			c := client(in)
			row.set(c)
			var delivered atomic.Int64
			done := make(chan struct{})
			c.OnDelivered = func(Message) {
				if delivered.Add(1) == int64(row.calls) {
					close(done)
				}
			}
			for i := 0; i < row.calls; i++ {
				must(t, c.Track(aTrack(fmt.Sprint(i))))
			}
			<-done
			var sizes []int
			for _, r := range in.received() {
				sizes = append(sizes, len(r.body.Batch))
			}
			if !reflect.DeepEqual(sizes, row.sizes) {
				t.Errorf("batches of %v", sizes)
			}
			closed(t, c)
		})
	}
}

func TestBatchesStayBelowTheLimits(t *testing.T) {
	in := startIngest(t, nil)
	c := client(in)
	c.FlushAt, c.FlushAfter = 1_000_000, time.Hour
	for i := 0; i < 40; i++ {
		must(t, c.Track(&Track{UserId: "u", Event: "E", Properties: Object{"x": strings.Repeat("é", 15_000)}}))
	}
	for i := 0; i < 6_000; i++ {
		must(t, c.Track(aTrack(fmt.Sprint(i))))
	}
	closed(t, c)
	total := 0
	for _, r := range in.received() {
		total += len(r.body.Batch)
		if r.size > 500_000 || len(r.body.Batch) > 2_500 {
			t.Errorf("%d calls in %d bytes", len(r.body.Batch), r.size)
		}
	}
	if total != 6_040 {
		t.Errorf("%d calls", total)
	}
}

func TestGzip(t *testing.T) {
	for _, plain := range []bool{false, true} {
		in := startIngest(t, nil)
		c := client(in)
		c.NoGzip = plain
		c.FlushAfter = time.Hour
		for i := 0; i < 15; i++ {
			must(t, c.Track(aTrack(fmt.Sprint(i))))
		}
		closed(t, c)
		if encoding := in.received()[0].head.Get("Content-Encoding"); (encoding == "gzip") == plain {
			t.Errorf("Content-Encoding %q with NoGzip %v", encoding, plain)
		}
	}
}

func TestWhatMaySucceedLaterIsSentAgainUnderItsId(t *testing.T) {
	reset := func(_ int, w http.ResponseWriter, _ request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	}
	for name, fault := range map[string]func(int, http.ResponseWriter, request){
		"reset": reset, "408": status(408), "425": status(425), "429": status(429), "500": status(500), "502": status(502),
		"503": status(503), "504": status(504),
	} {
		t.Run(name, func(t *testing.T) {
			in := startIngest(t, func(nth int, w http.ResponseWriter, r request) {
				if nth < 3 {
					fault(nth, w, r)
				}
			})
			c := client(in)
			h := (&heard{}).attach(c)
			must(t, c.Track(aTrack("one")))
			must(t, c.Flush(context.Background()))
			if ids := in.ids(); !reflect.DeepEqual(ids, []string{"one", "one", "one", "one"}) {
				t.Errorf("sent %v", ids)
			}
			if !reflect.DeepEqual(h.delivered, []string{"one"}) || len(h.failed) > 0 {
				t.Errorf("heard %v %v", h.delivered, h.failed)
			}
			closed(t, c)
		})
	}
}

func TestWhatCannotSucceedIsNotSentAgain(t *testing.T) {
	for _, code := range []int{301, 307, 400, 401, 403, 404, 413, 501, 505, 511} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			in := startIngest(t, status(code, "Location", "/elsewhere"))
			c := client(in)
			h := (&heard{}).attach(c)
			must(t, c.Track(aTrack("one")))
			closed(t, c)
			if len(in.received()) != 1 {
				t.Errorf("%d requests", len(in.received()))
			}
			var refused *StatusError
			if !errors.As(h.failed["one"], &refused) || refused.Status != code || refused.Code != "some_code" {
				t.Errorf("heard %v", h.failed)
			}
		})
	}
}

func TestAServersRejectionOfOneCall(t *testing.T) {
	in := startIngest(t, func(_ int, w http.ResponseWriter, _ request) {
		fmt.Fprint(w, `{"success":true,"rejected":[{"index":1,"code":"no_user_anon_id","message":"Who?"}]}`)
	})
	c := client(in)
	c.FlushAfter = time.Hour
	h := (&heard{}).attach(c)
	for _, id := range []string{"a", "b", "c"} {
		must(t, c.Track(aTrack(id)))
	}
	closed(t, c)
	if !reflect.DeepEqual(h.delivered, []string{"a", "c"}) {
		t.Errorf("delivered %v", h.delivered)
	}
	var rejected *RejectedError
	if !errors.As(h.failed["b"], &rejected) || rejected.Code != "no_user_anon_id" {
		t.Errorf("failed %v", h.failed)
	}
}

func TestRetryForEndsTheTrying(t *testing.T) {
	in := startIngest(t, status(503))
	c := client(in)
	c.RetryFor = 5 * time.Millisecond
	h := (&heard{}).attach(c)
	must(t, c.Track(aTrack("one")))
	closed(t, c)
	var refused *StatusError
	if !errors.As(h.failed["one"], &refused) || refused.Status != 503 {
		t.Errorf("heard %v", h.failed)
	}
}

func TestAFullQueueRefusesAndEnqueueWaits(t *testing.T) {
	let := make(chan struct{})
	in := startIngest(t, func(int, http.ResponseWriter, request) { <-let })
	c := client(in)
	c.QueueBytes = 1_000
	n := 0
	var err error
	for ; err == nil; n++ {
		err = c.Track(aTrack(fmt.Sprint(n)))
	}
	if !errors.Is(err, ErrQueueFull) || n < 3 || n > 6 {
		t.Fatalf("call %d: %v", n, err)
	}
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := c.Enqueue(short, aTrack("late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no room: %v", err)
	}
	entered := make(chan error)
	go func() { entered <- c.Enqueue(context.Background(), aTrack("patient")) }()
	close(let)
	must(t, <-entered)
	closed(t, c)
	if ids := in.ids(); len(ids) != n || ids[len(ids)-1] != "patient" {
		t.Errorf("sent %v", ids)
	}
}

func TestCloseGivesUpWhatItCannotDeliver(t *testing.T) {
	in := startIngest(t, status(503))
	c := client(in)
	c.backoff = func(int) time.Duration { return time.Minute }
	h := (&heard{}).attach(c)
	c.FlushAt, c.MaxInFlight = 1, 1
	must(t, c.Track(aTrack("in flight")))
	must(t, c.Track(aTrack("waiting")))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "2 calls") {
		t.Errorf("Close: %v", err)
	}
	if len(h.failed) != 2 {
		t.Errorf("heard %v", h.failed)
	}
	closed(t, c) // a second time does nothing
}

func TestCloseTriesAtOnceWhatWasWaiting(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	refused := make(chan struct{}, 1)
	in := startIngest(t, func(nth int, w http.ResponseWriter, r request) {
		if away.Load() {
			status(503)(nth, w, r)
			refused <- struct{}{}
		}
	})
	c := client(in)
	c.backoff = func(int) time.Duration { return time.Minute }
	h := (&heard{}).attach(c)
	must(t, c.Track(aTrack("one")))
	<-refused
	away.Store(false)
	closed(t, c)
	if !reflect.DeepEqual(h.delivered, []string{"one"}) {
		t.Errorf("heard %v %v", h.delivered, h.failed)
	}
}

func TestRetryAfterHoldsEveryBatch(t *testing.T) {
	var first atomic.Int64
	in := startIngest(t, func(nth int, w http.ResponseWriter, r request) {
		if nth == 0 {
			first.Store(time.Now().UnixNano())
			status(429, "Retry-After", "1")(nth, w, r)
		}
	})
	c := client(in)
	c.FlushAt = 1
	must(t, c.Track(aTrack("one")))
	for len(in.received()) == 0 {
		time.Sleep(time.Millisecond)
	}
	for c.engine.notBefore.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	must(t, c.Track(aTrack("two")))
	must(t, c.Flush(context.Background()))
	// This does not measure speed: the server asked for at least this delay.
	if passed := time.Duration(time.Now().UnixNano() - first.Load()); passed < time.Second {
		t.Errorf("sent again after %v", passed)
	}
	if ids := in.ids(); len(ids) != 3 {
		t.Errorf("sent %v", ids)
	}
	closed(t, c)
}

func TestRetryAfterIsRead(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "0": 0, "7": 7 * time.Second, "99999999999": 5 * time.Minute,
		"Sat, 21 Nov 2026 12:00:09 GMT": 9 * time.Second, "Sat, 21 Nov 2026 11:00:00 GMT": 0,
		"Sat, 21 Nov 2037 11:00:00 GMT": 5 * time.Minute,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

func TestBackoffGrowsToItsCap(t *testing.T) {
	for failed, full := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 6: 16 * time.Second,
		7: 30 * time.Second, 1000: 30 * time.Second} {
		for i := 0; i < 100; i++ {
			if got := backoff(failed); got < full/2 || got > full {
				t.Errorf("after %d: %v", failed, got)
			}
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	in := startIngest(t, func(nth int, w http.ResponseWriter, r request) {
		if nth%5 == 4 {
			status(503)(nth, w, r)
		}
	})
	c := client(in)
	h := (&heard{}).attach(c)
	shared := Object{"total": 1}
	var callers sync.WaitGroup
	for g := 0; g < 8; g++ {
		callers.Add(1)
		go func(g int) {
			defer callers.Done()
			for i := 0; i < 250; i++ {
				call := &Track{UserId: "u", Event: "E", Properties: shared, MessageId: fmt.Sprintf("%d-%d", g, i)}
				if err := c.Track(call); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					_ = c.Flush(context.Background())
				}
			}
		}(g)
	}
	callers.Wait()
	closed(t, c)
	distinct := map[string]bool{}
	for _, id := range h.delivered {
		distinct[id] = true
	}
	if len(h.delivered) != 2_000 || len(distinct) != 2_000 || len(h.failed) > 0 {
		t.Errorf("%d delivered, %d distinct, %d failed", len(h.delivered), len(distinct), len(h.failed))
	}
}

func TestDebugLogs(t *testing.T) {
	for _, on := range []bool{true, false} {
		if on {
			t.Setenv("DEBUG", "analytics")
		} else {
			t.Setenv("DEBUG", "")
		}
		in := startIngest(t, nil)
		c := client(in)
		var text bytes.Buffer
		c.Logger = log.New(&text, "", 0)
		must(t, c.Track(aTrack("one")))
		closed(t, c)
		if strings.Contains(text.String(), "1 calls delivered") != on {
			t.Errorf("logged %q", text.String())
		}
	}
}

func TestFailuresAreLoggedWhereNobodyListens(t *testing.T) {
	in := startIngest(t, status(401))
	c := client(in)
	var text bytes.Buffer
	c.Logger = log.New(&text, "", 0)
	must(t, c.Track(aTrack("one")))
	closed(t, c)
	if !strings.Contains(text.String(), "gave up 1 call: analytics: status 401 (some_code)") {
		t.Errorf("logged %q", text.String())
	}
}
