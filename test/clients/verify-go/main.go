// Verifies a request by the `verify` of a page: the secret is the argument, the request is JSON on standard input. Exits
// with 0 only if the signature is right.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	if err := verifyInput(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verifyInput(secret string) error {
	var request struct {
		Headers map[string]string
		Body    string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	header := http.Header{}
	for name, value := range request.Headers {
		header.Set(name, value)
	}
	return verify(header, []byte(request.Body), secret)
}
