// Sends one call of each type.
package main

import (
	"context"
	"log"
	"os"
	"time"

	analytics "github.com/waypost/waypost/clients/go"
)

func main() {
	writeKey := os.Getenv("WRITE_KEY")
	if writeKey == "" {
		log.Fatal("Set WRITE_KEY to the write key of a source.")
	}
	user := or(os.Getenv("USER_ID"), "u1")
	client := analytics.New(writeKey)
	client.Endpoint = or(os.Getenv("ENDPOINT"), "http://localhost:8080")
	client.OnDelivered = func(m analytics.Message) { log.Printf("%s delivered", m.Type) }
	client.OnFailed = func(m analytics.Message, err error) { log.Printf("%s failed: %v", m.Type, err) }

	check(client.Identify(&analytics.Identify{UserId: user, Traits: analytics.Object{"plan": "pro"}}))
	check(client.Track(&analytics.Track{
		UserId:     user,
		Event:      "Order Completed",
		Properties: analytics.Object{"total": 9.5, "name": "Zoë"},
	}))
	check(client.Page(&analytics.Page{UserId: user, Category: "Docs", Name: "Start", Traits: analytics.Object{"path": "/"}}))
	check(client.Screen(&analytics.Screen{UserId: user, Name: "Home", Properties: analytics.Object{"dark": true}}))
	check(client.Group(&analytics.Group{UserId: user, GroupId: "group-1", Traits: analytics.Object{"seats": 3}}))
	check(client.Alias(&analytics.Alias{UserId: user, PreviousId: user + "-before"}))

	// Sends the queued calls; a server does this on shutdown.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	check(client.Close(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
