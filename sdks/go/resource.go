// Package resource checks the access tokens of a Grantor authorization server in an API on net/http, asks the user of a token to sign one action, and draws
// from the limit that the user signed. Only the standard library is used.
//
//	api, err := resource.New(resource.Options{Issuer: "https://auth.example.com", Resource: "https://api.example.com/notes"})
//	if err != nil {
//		log.Fatal(err)
//	}
//	reads := api.RequireToken(resource.Needs{Scopes: []string{"notes.read"}})
//	http.Handle("GET /notes", reads(notes))
//	http.HandleFunc(api.MetadataPath, api.ServeMetadata)
package resource

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// CheckKind is how an ended token is found.
type CheckKind string

const (
	// CheckLocal does not find ended tokens: a token works until its exp.
	CheckLocal CheckKind = "local"
	// CheckIntrospection sends a request to the authorization server for every call (RFC 7662).
	CheckIntrospection CheckKind = "introspection"
	// CheckFeed needs no request: this process reads the list of ended tokens all the time. A token stops working within a second.
	CheckFeed CheckKind = "feed"
)

// Options describe one API.
type Options struct {
	// Issuer is the authorization server, exactly as in iss. https, or http on this machine.
	Issuer string
	// Resource is the resource identifier (RFC 9728 §1.2): the URL under which clients call this API, and the aud of its tokens.
	Resource string
	// Check is CheckIntrospection if Introspection is set, otherwise CheckLocal, unless you choose.
	Check CheckKind
	// Introspection has the API's own credentials. CheckIntrospection, CheckFeed, Approve, Draw and GiveBack need them.
	Introspection IntrospectionCredentials
	// Feed is for CheckFeed.
	Feed FeedOptions
	// ClientTokens accepts tokens that belong to no user (grant type client_credentials). Their Wallet is empty.
	ClientTokens bool
	// Scopes are those that every call needs.
	Scopes []string
	// ScopesSupported are the scopes that a client may need, Scopes if nil, and Name is the API's name for people, in the metadata document (RFC 9728 §2).
	ScopesSupported []string
	Name            string
	// ClockTolerance is the time by which this machine's clock may be wrong.
	ClockTolerance time.Duration
	// OnRefusal is called with each refusal, for the API's log: Reason names the check that failed. If nil, a fault of the API (500) is
	// logged by the package log.
	OnRefusal func(*Error)
	// Client sends the requests to the authorization server. Redirects are never followed, and the Timeout is not used.
	Client *http.Client
	// Now replaces the machine's clock for the times of tokens.
	Now func() time.Time
}

// IntrospectionCredentials are those of "grantor clients create --resource-server RESOURCE".
type IntrospectionCredentials struct{ ClientID, ClientSecret string }

// FeedOptions are for CheckFeed.
type FeedOptions struct {
	// MaxAge is the greatest age of the feed, up to a minute; 3 seconds if zero. If the feed is older, tokens are introspected.
	MaxAge time.Duration
	// OnProblem is called when the feed cannot be used, once for each kind of problem until the feed works again: for the API's log.
	OnProblem func(FeedProblem)
}

// ProtectedResource is one API: the check of its tokens, and the metadata document. Make one for all routes.
type ProtectedResource struct {
	// MetadataURL is the address of the metadata document, as in each challenge. MetadataPath is its path.
	MetadataURL, MetadataPath string
	options                   Options
	metadata                  []byte
	issuer                    *issuer
	feed                      *feedReader // nil without CheckFeed
}

const wellKnown = "/.well-known/oauth-protected-resource"

// New returns an error that names the first unusable option. With CheckFeed, New starts the reader of the feed, which Close ends.
func New(options Options) (*ProtectedResource, error) {
	if err := refuseUnusable(&options); err != nil {
		return nil, err
	}
	// RFC 9728 §3.1: the well-known path is inserted between the host and the path of the resource. The "/" of a resource without a path is removed.
	address, err := url.Parse(options.Resource)
	if err != nil {
		return nil, err
	}
	path := wellKnown
	if address.EscapedPath() != "/" {
		path += address.EscapedPath()
	}
	r := &ProtectedResource{options: options, MetadataPath: path, MetadataURL: address.Scheme + "://" + address.Host + path}
	r.metadata = metadataOf(options)
	r.issuer = newIssuer(options)
	if options.Check == CheckFeed {
		r.feed = startFeed(r.issuer, options)
	}
	return r, nil
}

func refuseUnusable(options *Options) error {
	hasCredentials := options.Introspection.ClientID != "" && options.Introspection.ClientSecret != ""
	switch {
	case !isSecureURL(options.Issuer) || strings.ContainsAny(options.Issuer, "?#"):
		return errors.New("resource: Issuer must be an https URL (http only on this machine) without query and fragment")
	case strings.HasSuffix(options.Issuer, "/"): // RFC 8414 §3.3: the metadata must name exactly this issuer
		return errors.New("resource: Issuer must have no final slash, as in https://auth.example.com")
	case !isSecureURL(options.Resource) || strings.ContainsAny(options.Resource, "?#"):
		return errors.New("resource: Resource must be an https URL (http only on this machine) without query and fragment")
	case options.Introspection != IntrospectionCredentials{} && !hasCredentials:
		return errors.New("resource: Introspection needs ClientID and ClientSecret")
	case !slices.Contains([]CheckKind{"", CheckLocal, CheckIntrospection, CheckFeed}, options.Check):
		return errors.New("resource: Check must be local, introspection or feed")
	case (options.Check == CheckIntrospection || options.Check == CheckFeed) && !hasCredentials:
		return errors.New("resource: this Check needs Introspection, with ClientID and ClientSecret")
	case options.ClockTolerance < 0:
		return errors.New("resource: ClockTolerance must be 0 or more")
	case options.Feed.MaxAge != 0 && (options.Feed.MaxAge < time.Second || options.Feed.MaxAge > usableFor):
		return errors.New("resource: Feed.MaxAge must be one second to one minute")
	}
	if options.Check == "" && hasCredentials {
		options.Check = CheckIntrospection
	}
	if options.Feed.MaxAge == 0 {
		options.Feed.MaxAge = 3 * time.Second
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return nil
}

// metadataOf omits members without a value (RFC 9728 §3.2).
func metadataOf(options Options) []byte {
	scopes := options.ScopesSupported
	if scopes == nil {
		scopes = options.Scopes
	}
	document, _ := json.Marshal(struct {
		Resource               string   `json:"resource"`
		AuthorizationServers   []string `json:"authorization_servers"`
		ScopesSupported        []string `json:"scopes_supported,omitempty"`
		BearerMethodsSupported []string `json:"bearer_methods_supported"`
		ResourceName           string   `json:"resource_name,omitempty"`
	}{options.Resource, []string{options.Issuer}, scopes, []string{"header"}, options.Name})
	return document
}

// ServeMetadata answers with the metadata document (RFC 9728), at MetadataPath. Pages of every origin may read the document.
func (r *ProtectedResource) ServeMetadata(w http.ResponseWriter, request *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Allow-Methods", "GET, HEAD")
	header.Set("Access-Control-Allow-Headers", "*")
	switch request.Method {
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet, http.MethodHead:
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "public, max-age=300")
		header.Set("X-Content-Type-Options", "nosniff")
		w.Write(r.metadata) // net/http sends no body for HEAD
	default:
		header.Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// Ready returns when the feed can be used, after Close, or with the context's error; without CheckFeed at once. An API need not wait: until then,
// tokens are introspected.
func (r *ProtectedResource) Ready(ctx context.Context) error {
	if r.feed == nil {
		return nil
	}
	return r.feed.ready(ctx)
}

// Close ends the connection of the feed. Later calls introspect their tokens.
func (r *ProtectedResource) Close() {
	if r.feed != nil {
		r.feed.close()
	}
}

// isSecureURL accepts https, and http to this machine only: keys and credentials are sent to this address.
func isSecureURL(text string) bool {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.User != nil {
		return false
	}
	return address.Scheme == "https" || (address.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, address.Hostname()))
}
