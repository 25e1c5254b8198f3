// The Go client, version 3: main <endpoint> <write key> <user>
package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/segmentio/analytics-go/v3"
)

type outcome struct{ sent, failed atomic.Int64 }

func (o *outcome) Success(analytics.Message) { o.sent.Add(1) }

func (o *outcome) Failure(_ analytics.Message, err error) {
	o.failed.Add(1)
	fmt.Fprintln(os.Stderr, err)
}

func main() {
	endpoint, writeKey, user := os.Args[1], os.Args[2], os.Args[3]
	var result outcome
	client, err := analytics.NewWithConfig(writeKey, analytics.Config{
		Endpoint:  endpoint,
		BatchSize: 4,
		Interval:  100 * time.Millisecond,
		Callback:  &result,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	track := func(event string, integrations analytics.Integrations) analytics.Track {
		return analytics.Track{UserId: user, Event: event, Integrations: integrations}
	}
	messages := []analytics.Message{
		analytics.Identify{UserId: user, Traits: analytics.NewTraits().Set("plan", "pro")},
		analytics.Track{
			UserId:     user,
			Event:      "Order Completed",
			Properties: analytics.NewProperties().Set("total", 9.5).Set("name", "Zoë"),
		},
		analytics.Page{UserId: user, Name: "Start", Properties: analytics.NewProperties().Set("path", "/")},
		analytics.Screen{UserId: user, Name: "Home", Properties: analytics.NewProperties().Set("dark", true)},
		analytics.Group{UserId: user, GroupId: "group-1", Traits: analytics.NewTraits().Set("seats", 3)},
		analytics.Alias{UserId: user, PreviousId: user + "-before"},
		track("integrations absent", nil),
		track("All false", analytics.NewIntegrations().DisableAll()),
		track("All false, Webhooks true", analytics.NewIntegrations().DisableAll().Enable("Webhooks")),
		track("Webhooks false", analytics.NewIntegrations().Disable("Webhooks")),
	}
	for _, message := range messages {
		if err := client.Enqueue(message); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := client.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if int(result.sent.Load()) != len(messages) {
		fmt.Fprintf(os.Stderr, "%d of %d were delivered\n", result.sent.Load(), len(messages))
		os.Exit(1)
	}
}
