package resource

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Needs is what one call needs of a valid token.
type Needs struct {
	// Scopes are needed in addition to those of the options.
	Scopes []string
	// MaxAge is the greatest time since the user signed in (RFC 9470 §3); no limit if zero. A token without auth_time is refused.
	MaxAge time.Duration
	// ACRValues are the accepted ways of signing in, the most preferred first (RFC 9470 §3). A token without acr is refused.
	ACRValues []string
}

type tokenKey struct{}

// RequireToken lets a request pass only with an access token that has what the call needs. Otherwise the request is refused. The handler reads the token with
// AccessTokenOf.
func (r *ProtectedResource) RequireToken(needs Needs) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			token, err := r.Check(request, needs)
			if err != nil {
				r.AnswerRefusal(w, err)
				return
			}
			next.ServeHTTP(w, request.WithContext(context.WithValue(request.Context(), tokenKey{}, token)))
		})
	}
}

// AccessTokenOf returns the checked access token of a request. AccessTokenOf panics if no RequireToken ran before the handler: a route that is not protected by
// mistake must not work.
func AccessTokenOf(request *http.Request) *AccessToken {
	token, isThere := request.Context().Value(tokenKey{}).(*AccessToken)
	if !isThere {
		panic("resource: this request has no checked access token: put RequireToken before the handler")
	}
	return token
}

// Check returns the access token of a request, or an *Error.
func (r *ProtectedResource) Check(request *http.Request, needs Needs) (*AccessToken, error) {
	needs.Scopes = unique(append(slices.Clone(r.options.Scopes), needs.Scopes...))
	text, err := presentedToken(request)
	if err != nil {
		return nil, r.addChallenge(err, needs.Scopes)
	}
	token, err := r.checkToken(request.Context(), text)
	if err == nil {
		err = r.require(token, needs)
	}
	if err != nil {
		return nil, r.addChallenge(err, needs.Scopes)
	}
	token.of, token.required, token.text = r, needs.Scopes, func() string { return text }
	return token, nil
}

// require checks the sign-in first: that challenge also has the scopes, so one new authorization request of the app is enough if both are missing.
func (r *ProtectedResource) require(token *AccessToken, needs Needs) error {
	reason := ""
	switch age := r.options.Now().Add(-r.options.ClockTolerance).Unix() - token.AuthTime; {
	case len(needs.ACRValues) > 0 && !slices.Contains(needs.ACRValues, token.ACR):
		reason = "acr_unmet"
	case needs.MaxAge > 0 && token.AuthTime == 0:
		reason = "authentication_time_unknown"
	case needs.MaxAge > 0 && age > int64(needs.MaxAge.Seconds()):
		reason = "authentication_too_old"
	}
	if reason != "" {
		return &Error{Status: 401, Code: "insufficient_user_authentication", Reason: reason, needs: needs,
			Description: "This call needs a more recent or a different sign-in of the user."}
	}
	for _, scope := range needs.Scopes {
		if !slices.Contains(token.Scopes, scope) {
			return insufficientScope()
		}
	}
	return nil
}

// checkToken checks the signature first: a forged token causes no request to the authorization server.
func (r *ProtectedResource) checkToken(ctx context.Context, text string) (*AccessToken, error) {
	token, err := r.verify(ctx, text)
	if err != nil {
		return nil, err
	}
	// RFC 9449 §7.2: a token that is bound to a key must not be accepted as a bearer token, and this package checks no proofs.
	if cnf, isBound := token.Claims["cnf"]; isBound {
		if members, _ := cnf.(map[string]any); textOf(members, "jkt") == "" {
			return nil, invalidToken("claim_cnf")
		}
		return nil, invalidToken("sender_constrained")
	}
	if token.Wallet == "" && !r.options.ClientTokens {
		return nil, invalidToken("no_wallet")
	}
	return token, r.confirm(ctx, text, token)
}

// verify validates a JWT access token without the authorization server (RFC 9068 §4).
func (r *ProtectedResource) verify(ctx context.Context, text string) (*AccessToken, error) {
	jws, err := r.issuer.verify(ctx, text)
	if err != nil {
		return nil, err
	}
	// RFC 9068 §4: an ID token is no access token
	if jws.typ != "at+jwt" {
		return nil, invalidToken("claim_typ")
	}
	claims, err := decodeObject(jws.payload)
	if err != nil {
		return nil, invalidToken("malformed")
	}
	if err := r.issuer.checkAudience(claims["iss"], claims["aud"]); err != nil {
		return nil, err
	}
	token, err := readAccessToken(claims)
	if err != nil {
		return nil, err
	}
	now := float64(r.options.Now().UnixMilli()) / 1000
	tolerance := r.options.ClockTolerance.Seconds()
	if notBefore, isThere := claims["nbf"]; isThere {
		if seconds, isNumber := notBefore.(float64); !isNumber || seconds > now+tolerance {
			return nil, invalidToken("claim_nbf")
		}
	}
	if claims["exp"].(float64) <= now-tolerance {
		return nil, invalidToken("expired")
	}
	token.keyID = jws.keyID
	return token, nil
}

// confirm finds out whether a genuine token has ended.
func (r *ProtectedResource) confirm(ctx context.Context, text string, token *AccessToken) error {
	if r.options.Check != CheckIntrospection && r.options.Check != CheckFeed {
		return nil
	}
	if r.feed != nil {
		switch r.feed.decide(token) {
		case valid:
			return nil
		case ended:
			return invalidToken("ended")
		}
	}
	err := r.issuer.introspect(ctx, text, token)
	if r.feed != nil {
		r.feed.noteAnswer(err)
	}
	return err
}

var b64token = regexp.MustCompile(`^[A-Za-z0-9\-._~+/]+=*$`)

// presentedToken reads the one token of a request (RFC 6750 §2), from the header only: a token in a query appears in logs and histories. A query token
// beside the header is refused, because "clients MUST NOT use more than one method" (§2).
func presentedToken(request *http.Request) (string, error) {
	values := request.Header.Values("Authorization")
	if len(values) > 1 {
		return "", invalidRequest("header_repeated")
	}
	scheme, text, _ := strings.Cut(strings.Join(values, ""), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &Error{Status: 401, Description: "This call needs an access token.", Reason: "no_credentials"}
	}
	text = strings.TrimSpace(text)
	if !b64token.MatchString(text) {
		return "", invalidRequest("header_malformed")
	}
	if request.URL.Query().Has("access_token") {
		return "", invalidRequest("two_methods")
	}
	return text, nil
}
