package resource

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DrawRequest is one use of a limit.
type DrawRequest struct {
	// Key is the API's name of this use, such as the number of an order: 1 to 64 characters of [A-Za-z0-9._-]. A repeated draw with the same key draws
	// nothing, and returns the values of the first one.
	Key string
	// Amount is in the smallest step of the unit, 1 to 999,999,999,999,999. 0 if the limit has no amount.
	Amount int64
}

// Draw is a use that was counted.
type Draw struct {
	// GrantID is the grant of the token, for GiveBack.
	GrantID string
	// Number is that of the draw in the grant; the first has 1.
	Number int64
	// Left is what was left after the draw.
	Left Left
	// Until is the end of the period of the draw, in epoch seconds; 0 without a period.
	Until int64
}

// Left is what is left of a limit.
type Left struct {
	// Uses are 0 to 10,000 uses in this period, or in all without a period.
	Uses int64
	// Amount is in the smallest step of the unit; nil if the limit has no amount.
	Amount *int64
}

// GiveBackRequest is what the API gives back of a draw, once.
type GiveBackRequest struct {
	// GrantID and Key are those of the draw.
	GrantID, Key string
	// Amount is in the smallest step of the unit, up to that of the draw. 0 if the limit has no amount. The use returns only with the whole amount.
	Amount int64
}

// GivenBack is what was given back.
type GivenBack struct {
	// Number is that of the draw in the grant.
	Number int64
	// Returned is in the smallest step of the unit; 0 if the limit has no amount.
	Returned int64
}

// Limit is how much the user allowed, as the wallet signed it. Amounts are whole numbers of the smallest step of the unit: with two decimals, 5000 is 50.00.
type Limit struct {
	// Scope is the scope that has the limit.
	Scope string
	// Uses is the number of uses in each period, or in all without a period.
	Uses int64
	// Per is day or week; empty for the whole time of the grant.
	Per string
	// Unit is empty, and the next fields are 0, if the limit has no amount. Amount is the sum of all uses in each period, and Each the most of one use.
	Unit         string
	Decimals     int64
	Amount, Each int64
}

// TokenLimit is the limit of an introspected token, and what is left.
type TokenLimit struct {
	Limit Limit
	Left  Left
	// Until is the end of the period, in epoch seconds; 0 without a period.
	Until int64
}

const (
	usesAtMost    = 10_000
	largestAmount = 999_999_999_999_999
	largestWhole  = 1<<53 - 1
)

var (
	grantIDGrammar = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	unitGrammar    = regexp.MustCompile(`^[A-Z0-9]{1,10}$`)
)

// exceededDetails are what the caller reads if the limit is used up, or was never signed.
var exceededDetails = map[string]string{
	"limit_not_signed": "The user has not signed a limit for this scope yet.",
	"uses_exceeded":    "The user signed a limit for this scope, and no use is left.",
	"amount_exceeded":  "The user signed a limit for this scope, and less is left than this call costs.",
	"each_exceeded":    "The user signed a limit for this scope, and this call costs more than one use may cost.",
}

// faultDetails are what the log of the API reads if its settings or its program are wrong.
var faultDetails = map[string]string{
	"draw_not_yours": "resource: Draw: register the client of this API as the resource server of the audience of its tokens",
	"draw_no_limit": "resource: Draw: no scope of the token has a limit at this API. Give the scope a limit at the authorization server, and require this scope of " +
		"the call before Draw",
	"draw_amount_unfit": "resource: Draw: the limit has an amount and the draw has none, or the limit has none and the draw has one",
	"return_unknown":    "resource: GiveBack: this client has no draw with this grant and this key",
	"return_above_draw": "resource: GiveBack: the amount is larger than the amount of the draw",
	"return_differs":    "resource: GiveBack: this draw was given back before, with another amount",
}

// Draw counts a call in the limit that the user signed, exactly once for each key. Call Draw before the work, with the most that the call may cost, and give
// back the rest.
//
// A repeated draw with the same key succeeds and counts nothing, so store the result of the work by the key, and look there first: otherwise a caller that
// repeats a key gets the work again.
//
// Draw returns an *Error with 403 insufficient_scope and a challenge if the limit is used up, 401 if the token has ended, 409 if the key was used for another
// amount, 500 if the API or its registration has a fault, and 503 if the authorization server gives no usable answer. Any other error is a fault of the
// program: an unusable request, a token that this ProtectedResource did not check, or missing credentials. After an error the call must not go on.
func (r *ProtectedResource) Draw(ctx context.Context, token *AccessToken, request DrawRequest) (*Draw, error) {
	if token == nil || token.of != r {
		return nil, errors.New("resource: Draw needs an access token that this ProtectedResource checked")
	}
	form, err := r.drawForm(request.Key, request.Amount)
	if err != nil {
		return nil, err
	}
	// A client itself has no limit: only a user signs one.
	if token.Wallet == "" {
		return nil, r.addChallenge(invalidToken("no_wallet"), token.required)
	}
	form.Set("token", token.text())
	answer, err := r.issuer.postDraw(ctx, "/oauth/draw", form)
	if err != nil {
		return nil, drawUnavailable(err)
	}
	if answer.status != http.StatusOK {
		err, scope := refusalOfDraw(answer)
		scopes := token.required
		if scope != "" {
			scopes = unique(append(slices.Clone(scopes), scope))
		}
		return nil, r.addChallenge(drawUnavailable(err), scopes)
	}
	draw := readDraw(answer.json, textOf(token.Claims, "grant_id"), request.Amount != 0)
	if draw == nil {
		return nil, drawUnavailable(unavailable("draw_malformed", nil))
	}
	return draw, nil
}

// GiveBack gives back a part of a draw, or all of it, once. No token is needed, so the API can give back after the end of the call. A repeat with the same
// amount returns the same values.
//
// GiveBack returns an *Error with 500 if the draw is unknown, was given back with another amount, or was smaller, and with 503 if the authorization server gives
// no usable answer: repeat the call later. Any other error is a fault of the program.
func (r *ProtectedResource) GiveBack(ctx context.Context, request GiveBackRequest) (*GivenBack, error) {
	if !grantIDGrammar.MatchString(request.GrantID) {
		return nil, errors.New("resource: GrantID must be the GrantID of a draw")
	}
	form, err := r.drawForm(request.Key, request.Amount)
	if err != nil {
		return nil, err
	}
	form.Set("grant_id", request.GrantID)
	answer, err := r.issuer.postDraw(ctx, "/oauth/draw/return", form)
	if err != nil {
		return nil, drawUnavailable(err)
	}
	if answer.status != http.StatusOK {
		return nil, drawUnavailable(refusalOfReturn(answer))
	}
	number, isNumber := wholeOf(answer.json["draw"])
	returned, isReturned := wholeOf(answer.json["returned"])
	if !isNumber || number == 0 || !isReturned || returned != request.Amount {
		return nil, drawUnavailable(unavailable("draw_malformed", nil))
	}
	return &GivenBack{number, returned}, nil
}

// drawForm checks what Draw and GiveBack share.
func (r *ProtectedResource) drawForm(key string, amount int64) (url.Values, error) {
	switch {
	case r.options.Introspection.ClientID == "":
		return nil, errors.New("resource: Introspection must have the credentials of this API, which limits need")
	case !actionName.MatchString(key):
		return nil, errors.New("resource: Key must be 1 to 64 letters, digits, and characters of ._-")
	case amount < 0 || amount > largestAmount:
		return nil, errors.New("resource: Amount must be in the smallest step of the unit, up to 999999999999999")
	}
	form := url.Values{"key": {key}}
	if amount > 0 {
		form.Set("amount", strconv.FormatInt(amount, 10))
	}
	return form, nil
}

// postDraw sends the form again if the answer was lost: the key makes this safe, because a repeat draws nothing if the first request was served.
func (i *issuer) postDraw(ctx context.Context, path string, form url.Values) (issuerAnswer, error) {
	return i.postAgainIfLost(ctx, i.url+path, form, 200, 400, 403, 409)
}

// refusalOfDraw returns the refusal, and the scope of a limit that is used up. A refusal that no case names is a fault between the API and the authorization
// server.
func refusalOfDraw(answer issuerAnswer) (*Error, string) {
	code, scope := textOf(answer.json, "error"), textOf(answer.json, "scope")
	if exceededDetails[code] != "" {
		if !isOneScope(scope) {
			return unavailable("draw_malformed", nil), ""
		}
		// RFC 6750 §3.1: a client that receives this error asks the user again, and so the wallet signs a new limit.
		return &Error{Status: 403, Code: "insufficient_scope", Reason: code, Description: exceededDetails[code]}, scope
	}
	switch code {
	case "token_inactive":
		return invalidToken("inactive"), ""
	case "key_used": // 409: the caller can choose another key
		return &Error{Status: 409, Code: "draw_key_used", Reason: "draw_key_used",
			Description: "The key of this call was used for another amount. Choose another key."}, ""
	case "not_yours", "no_limit":
		return faultOfAPI("draw_" + code), ""
	case "invalid_request": // the rest of the request was checked before
		return faultOfAPI("draw_amount_unfit"), ""
	}
	return answer.unexpected(), ""
}

func refusalOfReturn(answer issuerAnswer) *Error {
	switch answer.json["error"] {
	case "unknown_draw":
		return faultOfAPI("return_unknown")
	case "above_draw":
		return faultOfAPI("return_above_draw")
	case "already_returned":
		return faultOfAPI("return_differs")
	case "invalid_request":
		return faultOfAPI("draw_amount_unfit")
	}
	return answer.unexpected()
}

// faultOfAPI is a fault that the caller cannot change. The log has the words, which are those of the cause.
func faultOfAPI(reason string) *Error {
	return &Error{Status: 500, Code: "server_error", Reason: reason, cause: errors.New(faultDetails[reason]),
		Description: "This API cannot count its calls, because of a fault in its settings or its program."}
}

// drawUnavailable says that the call was not counted, instead of that the token was not checked.
func drawUnavailable(err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusServiceUnavailable {
		return err
	}
	return &Error{Status: 503, Code: refusal.Code, Reason: refusal.Reason, RetryAfter: refusal.RetryAfter, cause: refusal.cause,
		Description: "It is not known whether this call was counted. Try again shortly."}
}

// readDraw returns nil for an answer with a member that is missing or wrong. The answer has an amount exactly if the request has one.
func readDraw(json map[string]any, grantID string, hasAmount bool) *Draw {
	left, _ := readLeft(json["left"])
	number, isNumber := wholeOf(json["draw"])
	until, isUntil := wholeOrAbsent(json, "until")
	if grantID == "" || left == nil || (left.Amount != nil) != hasAmount || !isNumber || number == 0 || !isUntil {
		return nil
	}
	return &Draw{grantID, number, *left, until}
}

// readTokenLimit returns nil for a limit that cannot be read: only Draw decides.
func readTokenLimit(json map[string]any) *TokenLimit {
	limit := readLimit(json["limit"])
	left, until := readLeft(json["left"])
	if limit == nil || left == nil {
		return nil
	}
	return &TokenLimit{*limit, *left, until}
}

func readLimit(value any) *Limit {
	json, _ := value.(map[string]any)
	uses, isUses := wholeOf(json["uses"])
	limit := &Limit{Scope: textOf(json, "scope"), Uses: uses, Per: textOf(json, "per")}
	_, hasPeriod := json["per"]
	if !isOneScope(limit.Scope) || !isUses || uses < 1 || uses > usesAtMost || (hasPeriod && limit.Per != "day" && limit.Per != "week") {
		return nil
	}
	hasAmount := func(name string) bool { _, isThere := json[name]; return isThere }
	if !slices.ContainsFunc([]string{"unit", "decimals", "amount", "each"}, hasAmount) {
		return limit
	}
	limit.Unit = textOf(json, "unit")
	decimals, isDecimals := wholeOf(json["decimals"])
	amount, isAmount := wholeOf(json["amount"])
	each, isEach := wholeOf(json["each"])
	if !unitGrammar.MatchString(limit.Unit) || !isDecimals || decimals > 6 || !isAmount || amount > largestAmount || !isEach || each < 1 || each > amount {
		return nil
	}
	limit.Decimals, limit.Amount, limit.Each = decimals, amount, each
	return limit
}

// readLeft returns nil if a member is missing or wrong, and the end of the period, 0 without one.
func readLeft(value any) (*Left, int64) {
	json, _ := value.(map[string]any)
	uses, isUses := wholeOf(json["uses"])
	amount, isAmount := wholeOrAbsent(json, "amount")
	until, isUntil := wholeOrAbsent(json, "until")
	if !isUses || uses > usesAtMost || !isAmount || amount > largestAmount || !isUntil {
		return nil, 0
	}
	left := &Left{Uses: uses}
	if _, isThere := json["amount"]; isThere {
		left.Amount = &amount
	}
	return left, until
}

func isOneScope(scope string) bool {
	return scopeGrammar.MatchString(scope) && !strings.Contains(scope, " ")
}

// wholeOf returns a whole number of JSON, 0 or more, that a float64 holds exactly.
func wholeOf(value any) (int64, bool) {
	number, isNumber := value.(float64)
	if !isNumber || number < 0 || number > largestWhole || number != math.Trunc(number) {
		return 0, false
	}
	return int64(number), true
}

// wholeOrAbsent returns 0 for an absent member.
func wholeOrAbsent(json map[string]any, name string) (int64, bool) {
	value, isThere := json[name]
	if !isThere {
		return 0, true
	}
	return wholeOf(value)
}
