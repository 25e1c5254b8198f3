// Sends tracks as fast as a client accepts them: main <waypost|segment> <endpoint> <number>
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	segment "github.com/segmentio/analytics-go/v3"
	waypost "github.com/waypost/waypost/clients/go"
)

var delivered atomic.Int64

type outcome struct{}

func (outcome) Success(segment.Message)        { delivered.Add(1) }
func (outcome) Failure(segment.Message, error) {}

func main() {
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	began, cpu := time.Now(), cpuTime()
	switch os.Args[1] {
	case "waypost":
		throughWaypost(os.Args[2], count)
	case "segment":
		throughSegment(os.Args[2], count)
	}
	fmt.Printf(`{"ms":%d,"cpuMs":%d,"delivered":%d,"peakKb":%d}`+"\n",
		time.Since(began).Milliseconds(), (cpuTime() - cpu).Milliseconds(), delivered.Load(), usage().Maxrss)
}

func properties(i int) map[string]interface{} {
	return map[string]interface{}{"n": i, "orderId": "A-17", "total": 12.5, "currency": "EUR", "text": "some words that a call may well have"}
}

func throughWaypost(endpoint string, count int) {
	client := waypost.New("key")
	client.Endpoint = endpoint
	client.OnDelivered = func(waypost.Message) { delivered.Add(1) }
	for i := 0; i < count; i++ {
		check(client.Enqueue(context.Background(), &waypost.Track{
			UserId: "user-1", Event: "Order Completed", Properties: properties(i),
		}))
	}
	check(client.Close(context.Background()))
}

func throughSegment(endpoint string, count int) {
	client, err := segment.NewWithConfig("key", segment.Config{Endpoint: endpoint, Callback: outcome{}})
	check(err)
	for i := 0; i < count; i++ {
		check(client.Enqueue(segment.Track{UserId: "user-1", Event: "Order Completed", Properties: properties(i)}))
	}
	check(client.Close())
}

func usage() syscall.Rusage {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used
}

func cpuTime() time.Duration {
	used := usage()
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
