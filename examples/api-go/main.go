// An API that is called on behalf of a wallet. ISSUER, RESOURCE, CLIENT_ID and CLIENT_SECRET are its settings.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	// The metadata name the issuer exactly, and the issuer of Grantor has no final slash (RFC 8414 §3.3).
	if strings.HasSuffix(os.Getenv("ISSUER"), "/") {
		log.Fatal("ISSUER must have no final slash, as in https://auth.example.com")
	}
	check := NewTokenCheck(context.Background(), Options{
		Issuer:       os.Getenv("ISSUER"),
		Resource:     os.Getenv("RESOURCE"),
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
	})
	me := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		json.NewEncoder(w).Encode(map[string]string{"wallet": TokenOf(r).Wallet})
	})
	http.Handle("GET /me", check.Require(nil, me))

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
