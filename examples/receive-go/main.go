// Receives webhooks: verifies each, and drops repeats.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/waypost/waypost/clients/go/webhook"
)

// receiver keeps the ids of what was handled: a repeat carries the same one. A real one keeps them where it keeps its data.
type receiver struct {
	verifier *webhook.Verifier
	seen     sync.Map
}

func (rec *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, err := rec.verifier.Read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var call struct{ Type, UserId, AnonymousId string }
	if err := json.Unmarshal(event.Body, &call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, repeat := rec.seen.LoadOrStore(event.Id, true); !repeat {
		fmt.Printf("%s of %s%s\n", call.Type, call.UserId, call.AnonymousId)
	}
	// Within five seconds, or it is sent again: what takes longer is done afterwards.
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("Set WEBHOOK_SECRET to the shared secret of the destination.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	mux := http.NewServeMux()
	// In a rotation: both secrets, by a comma.
	mux.Handle("/hook", &receiver{verifier: webhook.New(strings.Split(secret, ",")...)})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, mux))
}
