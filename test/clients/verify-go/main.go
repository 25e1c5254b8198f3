// Verifies a request with the Standard Webhooks library for Go: the secret is the argument, the request is JSON on
// standard input. Exits with 0 only if the signature is right.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	if err := verify(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verify(secret string) error {
	var request struct {
		Headers map[string]string
		Body    string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	headers := http.Header{}
	for name, value := range request.Headers {
		headers.Set(name, value)
	}
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return webhook.Verify([]byte(request.Body), headers)
}
