package resource

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// The reader decides as docs/reference/feed-vectors.json says. VECTORS names another file.
func TestFeedVectors(t *testing.T) {
	path := os.Getenv("VECTORS")
	if path == "" {
		path = "../../docs/reference/feed-vectors.json"
	}
	var vectors struct {
		Issuer, Resource string
		Jwks             map[string]any
		Messages, Tokens map[string]string
		Cases            []struct {
			Name  string
			Steps []feedStep
		}
	}
	readJSON(t, path, &vectors)
	if len(vectors.Cases) < 30 {
		t.Fatalf("only %d cases", len(vectors.Cases))
	}
	for _, each := range vectors.Cases {
		t.Run(each.Name, func(t *testing.T) {
			issuer := newIssuer(Options{Issuer: vectors.Issuer, Resource: vectors.Resource})
			issuer.found = &foundIssuer{keys: publicKeys(vectors.Jwks), at: time.Now()}
			tokens := &ProtectedResource{issuer: issuer, options: Options{Now: func() time.Time { return time.Unix(0, 0) }}}
			var state feedState
			var connection *feedConnection
			for number, step := range each.Steps {
				found := ""
				switch {
				case step.Connect != nil:
					connection = state.connect(*step.Connect, step.Nonce)
				case step.Message != "":
					found = takeMessage(issuer, &state, vectors.Messages[step.Message], connection, step.At)
				default:
					token, err := tokens.verify(context.Background(), vectors.Tokens[step.Token])
					if err != nil {
						t.Fatalf("%s: %v", step.Token, err)
					}
					found = string(state.decide(token, step.At, 3000))
				}
				if found != step.Expect {
					t.Fatalf("step %d, %s%s: %q instead of %q", number+1, step.Message, step.Token, found, step.Expect)
				}
			}
		})
	}
}

type feedStep struct {
	Connect                *float64
	Nonce                  string
	Message, Token, Expect string
	At                     float64
}

// takeMessage returns what the vectors call the outcome.
func takeMessage(issuer *issuer, state *feedState, text string, connection *feedConnection, at float64) string {
	message, err := issuer.verifyFeedMessage(context.Background(), text)
	isComplete := false
	if err == nil {
		isComplete, err = state.accept(message, connection, at)
	}
	var problem FeedProblem
	switch {
	case errors.As(err, &problem):
		return map[string]string{"message_refused": "refuse", "message_missing": "snapshot", "clock_set": "stale"}[problem.Kind]
	case isComplete:
		return "complete"
	}
	return "more_parts"
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}
