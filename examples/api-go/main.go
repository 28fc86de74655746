// An API that is called on behalf of a wallet. ISSUER, RESOURCE, CLIENT_ID and CLIENT_SECRET are its settings.
package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"

	"grantor/resource"
)

func main() {
	api, err := resource.New(resource.Options{
		Issuer:        os.Getenv("ISSUER"),
		Resource:      os.Getenv("RESOURCE"),
		Check:         resource.CheckFeed, // no request for a call, and an ended token is refused within a second
		Introspection: resource.IntrospectionCredentials{ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET")},
		Feed:          resource.FeedOptions{OnProblem: func(problem resource.FeedProblem) { log.Print(problem) }},
		OnRefusal:     func(refusal *resource.Error) { log.Print(refusal) },
	})
	if err != nil {
		log.Fatal(err)
	}
	me := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		json.NewEncoder(w).Encode(map[string]string{"wallet": resource.AccessTokenOf(r).Wallet})
	})
	http.Handle("GET /me", api.RequireToken(resource.Needs{})(me))
	http.HandleFunc(api.MetadataPath, api.ServeMetadata)

	address := os.Getenv("LISTEN")
	if address == "" {
		address = "127.0.0.1:4005"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
