// The Go client, version 2 (its tag 2.1.1): main <endpoint> <write key> <user>
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/segmentio/analytics-go"
)

// complaints is where the client logs: it reports a failed delivery nowhere else.
type complaints struct{ lines int }

func (c *complaints) Write(line []byte) (int, error) {
	c.lines++
	return os.Stderr.Write(line)
}

type object = map[string]interface{}

func main() {
	endpoint, writeKey, user := os.Args[1], os.Args[2], os.Args[3]
	failed := &complaints{}
	client := analytics.New(writeKey)
	client.Endpoint = endpoint
	client.Size = 4
	client.Logger = log.New(failed, "", 0)

	track := func(event string, integrations object) error {
		return client.Track(&analytics.Track{UserId: user, Event: event, Integrations: integrations})
	}
	check(client.Identify(&analytics.Identify{UserId: user, Traits: object{"plan": "pro"}}))
	check(client.Track(&analytics.Track{
		UserId:     user,
		Event:      "Order Completed",
		Properties: object{"total": 9.5, "name": "Zoë"},
	}))
	check(client.Page(&analytics.Page{UserId: user, Category: "Docs", Name: "Start", Traits: object{"path": "/"}}))
	check(client.Group(&analytics.Group{UserId: user, GroupId: "group-1", Traits: object{"seats": 3}}))
	check(client.Alias(&analytics.Alias{UserId: user, PreviousId: user + "-before"}))
	check(track("integrations absent", nil))
	check(track("All false", object{"All": false}))
	check(track("All false, Webhooks true", object{"All": false, "Webhooks": true}))
	check(track("Webhooks false", object{"Webhooks": false}))
	check(client.Close())

	if failed.lines > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
