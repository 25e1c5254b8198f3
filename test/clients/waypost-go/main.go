// Our Go client: main <endpoint> <write key> <user> [number of tracks instead, the second half of them after SIGUSR2]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	analytics "github.com/waypost/waypost/clients/go"
)

type object = analytics.Object

func main() {
	signalled := make(chan os.Signal, 1)
	signal.Notify(signalled, syscall.SIGUSR2)
	user := os.Args[3]
	client := analytics.New(os.Args[2])
	client.Endpoint = os.Args[1]
	client.FlushAfter = 100 * time.Millisecond
	var delivered, failed atomic.Int64
	client.OnDelivered = func(analytics.Message) { delivered.Add(1) }
	client.OnFailed = func(m analytics.Message, err error) {
		failed.Add(1)
		fmt.Fprintln(os.Stderr, m.MessageId, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	sent := 0
	if len(os.Args) > 4 {
		count, err := strconv.Atoi(os.Args[4])
		check(err)
		// A small queue, so that it is full while ingest is away.
		client.QueueBytes = 1 << 20
		for ; sent < count; sent++ {
			if sent == count/2 {
				<-signalled
			}
			check(client.Enqueue(ctx, &analytics.Track{
				UserId:     fmt.Sprintf("%s %d", user, sent%100),
				Event:      "Counted",
				MessageId:  fmt.Sprintf("%s %d", user, sent),
				Properties: object{"n": sent, "text": "some words that a call may well have"},
			}))
		}
	} else {
		sent = everyType(client, user)
	}
	check(client.Close(ctx))
	fmt.Printf("{\"delivered\":%d,\"failed\":%d,\"peakKb\":%d}\n", delivered.Load(), failed.Load(), peakKb())
	if int(delivered.Load()) != sent {
		os.Exit(1)
	}
}

func everyType(client *analytics.Client, user string) int {
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
	check(client.Screen(&analytics.Screen{UserId: user, Name: "Home", Properties: object{"dark": true}}))
	check(client.Group(&analytics.Group{UserId: user, GroupId: "group-1", Traits: object{"seats": 3}}))
	check(client.Alias(&analytics.Alias{UserId: user, PreviousId: user + "-before"}))
	check(track("integrations absent", nil))
	check(track("All false", object{"All": false}))
	check(track("All false, Webhooks true", object{"All": false, "Webhooks": true}))
	check(track("Webhooks false", object{"Webhooks": false}))
	return 10
}

// peakKb is the most memory that the process has had, as Linux counts it; 0 elsewhere.
func peakKb() int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kb int
	for _, line := range strings.Split(string(text), "\n") {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb
		}
	}
	return 0
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
