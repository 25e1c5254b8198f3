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

// receiver stores the ids of handled events: a repeat has the same id. A real receiver stores them with its data.
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
	// Respond within five seconds, or Waypost sends it again. Do slow work afterwards.
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
	// During a rotation: both secrets, separated by a comma.
	mux.Handle("/hook", &receiver{verifier: webhook.New(strings.Split(secret, ",")...)})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, mux))
}
