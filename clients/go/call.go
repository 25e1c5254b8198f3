package analytics

import (
	"encoding/json"
	"fmt"
	"time"
)

// Object is a JSON object. It accepts any map[string]interface{}.
type Object = map[string]interface{}

// Call is an Identify, Track, Page, Screen, Group or Alias.
//
// All of them have a Context (facts about the environment), Integrations (the destinations of the call, for example
// {"All": false, "Webhooks": true}), a Timestamp (ISO 8601, for an event in the past; otherwise the time of the call,
// by the server's clock) and a MessageId (less than 100 characters; otherwise a random one). The server counts calls
// with the same MessageId once.
type Call interface {
	// read returns the fields to send, and a text that names a missing field.
	read() (fields, string)
}

// Identify ties a user to their traits.
type Identify struct {
	UserId       string // this or AnonymousId
	AnonymousId  string
	Traits       Object
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// Track records that a user did something.
type Track struct {
	Event        string // required
	UserId       string // this or AnonymousId
	AnonymousId  string
	Properties   Object
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// Page records that a user saw a page.
type Page struct {
	UserId       string // this or AnonymousId
	AnonymousId  string
	Category     string
	Name         string
	Traits       Object // url, title, referrer, path and others; sent as properties
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// Screen records that a user saw a screen of an app.
type Screen struct {
	UserId       string // this or AnonymousId
	AnonymousId  string
	Name         string
	Properties   Object
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// Group ties a user to a group, such as a company.
type Group struct {
	GroupId      string // required
	UserId       string // this or AnonymousId
	AnonymousId  string
	Traits       Object
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// Alias says that two ids belong to one user.
type Alias struct {
	UserId       string // required
	PreviousId   string // required
	Context      Object
	Integrations Object
	Timestamp    string
	MessageId    string
}

// fields is a call on the wire.
type fields struct {
	Type              string `json:"type"`
	MessageId         string `json:"messageId"`
	UserId            string `json:"userId,omitempty"`
	AnonymousId       string `json:"anonymousId,omitempty"`
	PreviousId        string `json:"previousId,omitempty"`
	GroupId           string `json:"groupId,omitempty"`
	Event             string `json:"event,omitempty"`
	Name              string `json:"name,omitempty"`
	Category          string `json:"category,omitempty"`
	Traits            Object `json:"traits,omitempty"`
	Properties        Object `json:"properties,omitempty"`
	Context           Object `json:"context,omitempty"`
	Timestamp         string `json:"timestamp,omitempty"`
	OriginalTimestamp string `json:"originalTimestamp,omitempty"`

	integrations Object
}

func (c *Identify) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "identify", UserId: c.UserId, AnonymousId: c.AnonymousId, Traits: c.Traits, Context: c.Context,
		integrations: c.Integrations, Timestamp: c.Timestamp, MessageId: c.MessageId}, someone(c.UserId, c.AnonymousId)
}

func (c *Track) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "track", Event: c.Event, UserId: c.UserId, AnonymousId: c.AnonymousId, Properties: c.Properties,
			Context: c.Context, integrations: c.Integrations, Timestamp: c.Timestamp, MessageId: c.MessageId},
		first(someone(c.UserId, c.AnonymousId), given("Event", c.Event))
}

func (c *Page) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "page", UserId: c.UserId, AnonymousId: c.AnonymousId, Category: c.Category, Name: c.Name,
			Properties: c.Traits, Context: c.Context, integrations: c.Integrations, Timestamp: c.Timestamp,
			MessageId: c.MessageId},
		someone(c.UserId, c.AnonymousId)
}

func (c *Screen) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "screen", UserId: c.UserId, AnonymousId: c.AnonymousId, Name: c.Name, Properties: c.Properties,
			Context: c.Context, integrations: c.Integrations, Timestamp: c.Timestamp, MessageId: c.MessageId},
		someone(c.UserId, c.AnonymousId)
}

func (c *Group) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "group", GroupId: c.GroupId, UserId: c.UserId, AnonymousId: c.AnonymousId, Traits: c.Traits,
			Context: c.Context, integrations: c.Integrations, Timestamp: c.Timestamp, MessageId: c.MessageId},
		first(someone(c.UserId, c.AnonymousId), given("GroupId", c.GroupId))
}

func (c *Alias) read() (fields, string) {
	if c == nil {
		return fields{}, "it is nil"
	}
	return fields{Type: "alias", UserId: c.UserId, PreviousId: c.PreviousId, Context: c.Context,
			integrations: c.Integrations, Timestamp: c.Timestamp, MessageId: c.MessageId},
		first(given("UserId", c.UserId), given("PreviousId", c.PreviousId))
}

func someone(userId, anonymousId string) string {
	if userId == "" && anonymousId == "" {
		return "it needs UserId or AnonymousId"
	}
	return ""
}

func given(field, value string) string {
	if value == "" {
		return "it needs " + field
	}
	return ""
}

func first(faults ...string) string {
	for _, fault := range faults {
		if fault != "" {
			return fault
		}
	}
	return ""
}

const (
	// Every ingest of this format accepts this size. It would refuse a larger call later, unseen by the caller.
	maxCallBytes       = 32 * 1024
	maxMessageIdLength = 99

	timeLayout = "2006-01-02T15:04:05.000Z07:00"
)

// encode serializes a call, or returns why it is invalid.
func encode(call Call, now time.Time) (Message, error) {
	if call == nil {
		return Message{}, fmt.Errorf("%w: it is nil", ErrInvalidCall)
	}
	f, fault := call.read()
	if fault != "" {
		return Message{}, fmt.Errorf("%w: %s", ErrInvalidCall, fault)
	}
	if len(f.MessageId) > maxMessageIdLength {
		return Message{}, fmt.Errorf("%w: MessageId has 100 characters or more", ErrInvalidCall)
	}
	if f.MessageId == "" {
		f.MessageId = newId()
	}
	if f.Timestamp == "" {
		f.OriginalTimestamp = now.UTC().Format(timeLayout)
	} else if !isTime(f.Timestamp) {
		return Message{}, fmt.Errorf("%w: Timestamp %q is not a time in ISO 8601", ErrInvalidCall, f.Timestamp)
	}
	if len(f.integrations) > 0 {
		f.Context = withIntegrations(f.Context, f.integrations)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return Message{}, fmt.Errorf("%w: %v", ErrInvalidCall, err)
	}
	message := Message{Type: f.Type, MessageId: f.MessageId, JSON: text, live: f.Timestamp == ""}
	if message.sentBytes() > maxCallBytes {
		return Message{}, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, message.sentBytes(), maxCallBytes)
	}
	return message, nil
}

// withIntegrations returns the context with the integrations in it. The caller's maps stay unchanged.
func withIntegrations(context, integrations Object) Object {
	merged := Object{}
	if inContext, ok := context["integrations"].(Object); ok {
		for name, value := range inContext {
			merged[name] = value
		}
	}
	for name, value := range integrations {
		merged[name] = value
	}
	with := Object{}
	for key, value := range context {
		with[key] = value
	}
	with["integrations"] = merged
	return with
}

// The formats that ingest can read. It would silently replace another text with the time of arrival.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00", "2006-01-02"}

func isTime(text string) bool {
	for _, layout := range timeLayouts {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}
