package resource

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const grant = "019a0000-0000-7000-8000-000000000002"

// feedResponse is one response of the feed of a little issuer.
type feedResponse struct {
	cursor string
	send   chan map[string]any // the claims of the next message; closed at the end of the response
}

// addFeed gives the issuer a feed. Each connection of the reader arrives in the channel. The first message of a connection has the nonce.
func addFeed(issuer *littleIssuer) <-chan feedResponse {
	connections := make(chan feedResponse)
	issuer.handle("/endings", func(w http.ResponseWriter, request *http.Request) {
		response := feedResponse{request.Header.Get("Last-Event-ID"), make(chan map[string]any)}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		nonce := any(request.URL.Query().Get("nonce"))
		select {
		case connections <- response:
		case <-request.Context().Done():
			return
		}
		for {
			select {
			case <-request.Context().Done():
				return
			case claims, isOpen := <-response.send:
				if !isOpen {
					return
				}
				now := time.Now().UnixMilli()
				message := mergeOf(map[string]any{"iss": issuer.URL, "aud": api, "at": now, "until": now, "feed": "run-1", "lifetime": 600,
					"keys": []string{keyInSet}, "nonce": nonce}, claims)
				fmt.Fprintf(w, "id: cursor-%d\ndata: %s\n\n", now, issuer.sign(map[string]any{"typ": "endings+jwt", "alg": "ES256", "kid": keyInSet}, message))
				w.(http.Flusher).Flush()
				nonce = nil
			}
		}
	})
	return connections
}

func endingOf(id string) map[string]string {
	bytes, _ := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	return map[string]string{"4000000000": base64.RawURLEncoding.EncodeToString(bytes)}
}

// eventually waits for the refusal of a token, or for no refusal if the reason is empty.
func eventually(t *testing.T, r *ProtectedResource, token, reason string) {
	t.Helper()
	found := ""
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		found = ""
		if _, err := r.Check(callWith(token), Needs{}); err != nil {
			found = err.(*Error).Reason
		}
		if found == reason {
			return
		}
	}
	t.Fatalf("%q instead of %q", found, reason)
}

func TestTheFeedAloneDecidesAboutTokensAndIsReadOnFromItsCursor(t *testing.T) {
	issuer := startIssuer(t)
	connections := addFeed(issuer)
	// The machine's clock, because the feed is compared with exp.
	problems := make(chan FeedProblem, 10)
	r, err := New(Options{Issuer: issuer.URL, Resource: api, Check: CheckFeed, Introspection: credentials,
		Feed: FeedOptions{MaxAge: usableFor, OnProblem: func(problem FeedProblem) { problems <- problem }}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	times := map[string]any{"iat": time.Now().Unix(), "exp": time.Now().Unix() + 600}
	token := issuer.token(mergeOf(times, map[string]any{"grant_id": grant}))
	other := issuer.token(mergeOf(times, map[string]any{"grant_id": "019a0000-0000-7000-8000-000000000003"}))

	first := <-connections
	eventually(t, r, token, "issuer_answered_404") // not complete: introspection decides, and this issuer has none
	first.send <- map[string]any{"from": nil, "part": []int{1, 1}, "snapshot": "s"}
	if err := r.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, r, token, "")
	first.send <- map[string]any{"from": 0, "ended": endingOf(grant)}
	eventually(t, r, token, "ended")
	eventually(t, r, other, "")
	close(first.send)

	second := <-connections
	if !strings.HasPrefix(second.cursor, "cursor-") {
		t.Fatalf("the cursor is %q", second.cursor)
	}
	// A message whose until is before what the reader has: one is missing, so the reader reads a snapshot.
	second.send <- map[string]any{"from": time.Now().UnixMilli() + 60_000}
	third := <-connections
	equal(t, []string{third.cursor, (<-problems).Kind}, []string{"", "message_missing"})
	eventually(t, r, other, "issuer_answered_404")
	third.send <- map[string]any{"from": nil, "part": []int{1, 1}, "snapshot": "t", "ended": endingOf(grant)}
	eventually(t, r, other, "")
	eventually(t, r, token, "ended")
	// The machine's clock goes forward by five seconds, as after a suspension: the feed is stale until the next connection.
	r.feed.lock.Lock()
	r.feed.ahead -= 5000
	r.feed.lock.Unlock()
	eventually(t, r, other, "issuer_answered_404")
	third.send <- map[string]any{"from": 0}
	equal(t, (<-problems).Kind, "clock_set")
	fourth := <-connections
	fourth.send <- map[string]any{"from": 0}
	eventually(t, r, other, "")
	r.Close()
	eventually(t, r, other, "issuer_answered_404")
}

func TestAFeedThatIsRefusedIsReportedOnceAndTokensAreIntrospected(t *testing.T) {
	issuer := startIssuer(t)
	problems := make(chan FeedProblem, 10)
	issuer.answer("/endings", 401, map[string]any{"error": "invalid_client"})
	issuer.answer("/introspect", 200, issuer.claims(map[string]any{"active": true}))
	r := resourceOf(t, issuer, Options{Check: CheckFeed, Introspection: credentials, Feed: FeedOptions{OnProblem: func(problem FeedProblem) { problems <- problem }}})
	equal(t, (<-problems).Error(), "feed of endings: refused: status 401")
	for issuer.requests("/endings") < 3 {
		if _, err := r.Check(callWith(issuer.token(nil)), Needs{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	equal(t, len(problems), 0)
}
