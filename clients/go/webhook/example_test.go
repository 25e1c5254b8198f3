package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/waypost/waypost/clients/go/webhook"
)

func ExampleVerifier_Read() {
	verifier := webhook.New("the shared secret")
	verifier.Now = func() time.Time { return sent } // for this example only
	handler := func(w http.ResponseWriter, r *http.Request) {
		event, err := verifier.Read(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var call struct{ Type, Event, UserId string }
		if err := json.Unmarshal(event.Body, &call); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(event.Id, call.Type, call.Event)
		w.WriteHeader(http.StatusNoContent)
	}

	const text = `{"version":1,"type":"track","userId":"u1","event":"Order Completed"}`
	request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(text))
	request.Header = signed("the shared secret", text)
	answer := httptest.NewRecorder()
	handler(answer, request)
	fmt.Println(answer.Code)
	// Output:
	// dlv_1 track Order Completed
	// 204
}
