package resource

import (
	"regexp"
	"slices"
	"strings"
)

// AccessToken is an access token that passed every check (RFC 9068 §2.2).
type AccessToken struct {
	// Wallet is sub: the wallet's address in EIP-55 form, which can be a key. Empty if a client acts for itself.
	Wallet string
	// ClientID is the app that calls.
	ClientID string
	Scopes   []string
	// TokenID is jti: different for every token.
	TokenID string
	// IssuedAt and ExpiresAt are epoch seconds, as is AuthTime: when the user last signed in, 0 if the token does not have the claim.
	IssuedAt, ExpiresAt, AuthTime int64
	// ACR is how the user signed in; empty if the token does not have the claim.
	ACR string
	// Limit is what the user signed for one scope, and what is left; nil unless the token was introspected and the grant has a limit at this API. It
	// reserves nothing: Draw decides.
	Limit *TokenLimit
	// Claims are all claims as they were signed.
	Claims map[string]any

	keyID    string
	required []string           // the scopes that the call needed
	text     func() string      // the token itself: a function, because fmt prints the content of every other field
	of       *ProtectedResource // the resource that checked the token
}

var scopeGrammar = regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$`)

// readScopes reads a scope (RFC 6749 §3.3). A text outside the grammar gives no scopes.
func readScopes(scope any) []string {
	text, _ := scope.(string)
	if !scopeGrammar.MatchString(text) {
		return nil
	}
	return unique(strings.Split(text, " "))
}

// readAccessToken returns the claims as a typed token, or the error with the name of the first claim that is missing or of the wrong type.
func readAccessToken(claims map[string]any) (*AccessToken, error) {
	for _, name := range []string{"sub", "client_id", "jti"} {
		if textOf(claims, name) == "" {
			return nil, invalidToken("claim_" + name)
		}
	}
	for _, name := range []string{"iat", "exp", "auth_time"} {
		value, isThere := claims[name]
		if _, isNumber := value.(float64); !isNumber && (isThere || name != "auth_time") {
			return nil, invalidToken("claim_" + name)
		}
	}
	if acr, isThere := claims["acr"]; isThere {
		if _, isText := acr.(string); !isText {
			return nil, invalidToken("claim_acr")
		}
	}
	token := &AccessToken{Wallet: textOf(claims, "sub"), ClientID: textOf(claims, "client_id"), Scopes: readScopes(claims["scope"]),
		TokenID: textOf(claims, "jti"), IssuedAt: secondsOf(claims, "iat"), ExpiresAt: secondsOf(claims, "exp"),
		AuthTime: secondsOf(claims, "auth_time"), ACR: textOf(claims, "acr"), Claims: claims}
	// RFC 9068 §2.2: if no user is involved, sub is the client. An address is never a client id.
	if token.Wallet == token.ClientID {
		token.Wallet = ""
	}
	return token, nil
}

func textOf(json map[string]any, name string) string {
	text, _ := json[name].(string)
	return text
}

func secondsOf(claims map[string]any, name string) int64 {
	seconds, _ := claims[name].(float64)
	return int64(seconds)
}

func unique(scopes []string) (found []string) {
	for _, scope := range scopes {
		if !slices.Contains(found, scope) {
			found = append(found, scope)
		}
	}
	return found
}
