package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// The reader decides as docs/reference/feed-vectors.json says. VECTORS names another file.
func TestVectors(t *testing.T) {
	path := os.Getenv("VECTORS")
	if path == "" {
		path = "../../docs/reference/feed-vectors.json"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Issuer, Resource string
		Jwks             struct{ Keys []jwk }
		Messages, Tokens map[string]string
		Cases            []struct {
			Name  string
			Steps []struct {
				Connect                *float64
				Nonce                  string
				Message, Token, Expect string
				At                     float64
			}
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Cases) < 30 {
		t.Fatalf("only %d cases", len(vectors.Cases))
	}
	for _, each := range vectors.Cases {
		t.Run(each.Name, func(t *testing.T) {
			check := newTokenCheck(Options{Issuer: vectors.Issuer, Resource: vectors.Resource})
			check.setKeys(vectors.Jwks.Keys)
			check.keys.fetchedAt = time.Now()
			var connection *connection
			for number, step := range each.Steps {
				found := ""
				switch {
				case step.Connect != nil:
					connection = check.feed.connect(*step.Connect, step.Nonce)
				case step.Message != "":
					message, err := check.verify(context.Background(), vectors.Messages[step.Message], "endings+jwt")
					if err == nil {
						err = check.feed.accept(message, connection, step.At)
					} else {
						err = errRefused
					}
					found = map[error]string{nil: "complete", errMoreParts: "more_parts", errRefused: "refuse", errSnapshot: "snapshot", errStale: "stale"}[err]
				default:
					token, err := check.verify(context.Background(), vectors.Tokens[step.Token], "at+jwt")
					if err != nil {
						t.Fatal(errors.Join(errors.New(step.Token), err))
					}
					found = check.feed.decide(token, step.At, 3000)
				}
				if found != step.Expect {
					t.Fatalf("step %d, %s%s: %q instead of %q", number+1, step.Message, step.Token, found, step.Expect)
				}
			}
		})
	}
}
