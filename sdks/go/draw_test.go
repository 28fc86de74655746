package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const grantOfLimit = "01a2259d-eae0-8000-a4f7-a07ae0b707ef"

// littleDraws are the two endpoints of draws, in memory, for the limit of one grant: 2 uses, 100.00 in all, 50.00 each.
type littleDraws struct {
	lock         sync.Mutex
	uses, amount int64
	lose         int    // the number of answers that are lost after the request was served
	refuse       string // the code of each answer, with 403
	drawn        map[string]map[string]any
	amounts      map[string]int64
	returned     map[string]int64
}

func addDraws(issuer *littleIssuer) *littleDraws {
	draws := &littleDraws{uses: 2, amount: 10_000, drawn: map[string]map[string]any{}, amounts: map[string]int64{}, returned: map[string]int64{}}
	issuer.handle("/oauth/draw", draws.answerWith(draws.draw))
	issuer.handle("/oauth/draw/return", draws.answerWith(draws.giveBack))
	return draws
}

func (d *littleDraws) answerWith(serve func(key string, amount int64) (int, map[string]any)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		d.lock.Lock()
		defer d.lock.Unlock()
		amount, _ := strconv.ParseInt(request.FormValue("amount"), 10, 64)
		status, body := 403, map[string]any{"error": d.refuse}
		if d.refuse == "" {
			status, body = serve(request.FormValue("key"), amount)
		}
		if d.lose--; d.lose >= 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(body)
	}
}

func (d *littleDraws) draw(key string, amount int64) (int, map[string]any) {
	refused := func(code string) (int, map[string]any) { return 403, map[string]any{"error": code, "scope": "pay"} }
	switch first := d.drawn[key]; {
	case first != nil && d.amounts[key] != amount:
		return 409, map[string]any{"error": "key_used"}
	case first != nil:
		return 200, first
	case amount > 5000:
		return refused("each_exceeded")
	case d.uses == 0:
		return refused("uses_exceeded")
	case amount > d.amount:
		return refused("amount_exceeded")
	}
	d.uses, d.amount = d.uses-1, d.amount-amount
	d.amounts[key] = amount
	d.drawn[key] = map[string]any{"draw": len(d.drawn) + 1, "left": map[string]any{"uses": d.uses, "amount": d.amount}, "until": instant + 604_800}
	return 200, d.drawn[key]
}

func (d *littleDraws) giveBack(key string, amount int64) (int, map[string]any) {
	first, before := d.drawn[key], int64(-1)
	if returned, isThere := d.returned[key]; isThere {
		before = returned
	}
	switch {
	case first == nil:
		return 403, map[string]any{"error": "unknown_draw"}
	case amount > d.amounts[key]:
		return 409, map[string]any{"error": "above_draw"}
	case before >= 0 && before != amount:
		return 409, map[string]any{"error": "already_returned"}
	case before < 0:
		d.returned[key], d.amount = amount, d.amount+amount
		if amount == d.amounts[key] {
			d.uses++
		}
	}
	return 200, map[string]any{"draw": first["draw"], "returned": amount}
}

func limitedAPI(t *testing.T, issuer *littleIssuer, options Options) (*ProtectedResource, *AccessToken) {
	options.Check, options.Introspection = CheckLocal, credentials
	r := resourceOf(t, issuer, options)
	token, err := r.Check(callWith(issuer.token(map[string]any{"grant_id": grantOfLimit})), Needs{Scopes: []string{"pay"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, token
}

func TestACallIsCountedOnceForEachKeyAndGivenBackOnce(t *testing.T) {
	issuer := startIssuer(t)
	draws := addDraws(issuer)
	r, token := limitedAPI(t, issuer, Options{})
	ctx := context.Background()
	draws.lose = 1
	for range 2 {
		draw, err := r.Draw(ctx, token, DrawRequest{Key: "picture-7", Amount: 4000})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, []any{draw.GrantID, draw.Number, draw.Left, draw.Until}, []any{grantOfLimit, 1, map[string]any{"Uses": 1, "Amount": 6000}, instant + 604_800})
	}
	_, err := r.Draw(ctx, token, DrawRequest{Key: "picture-7", Amount: 1})
	refusalOf(t, err, 409, "draw_key_used")
	draws.lose = 1
	for range 2 {
		given, err := r.GiveBack(ctx, GiveBackRequest{grantOfLimit, "picture-7", 4000})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, given, GivenBack{1, 4000})
	}
	equal(t, []any{draws.uses, draws.amount}, []any{2, 10_000})
	for _, each := range []struct {
		request GiveBackRequest
		reason  string
	}{{GiveBackRequest{grantOfLimit, "picture-7", 1}, "return_differs"}, {GiveBackRequest{grantOfLimit, "picture-7", 4001}, "return_above_draw"},
		{GiveBackRequest{grantOfLimit, "picture-8", 1}, "return_unknown"}} {
		_, err := r.GiveBack(ctx, each.request)
		refusalOf(t, err, 500, each.reason)
	}
}

func TestOfCallsThatRaceForTheLastUsesAsManyPassAsAreLeft(t *testing.T) {
	issuer := startIssuer(t)
	addDraws(issuer)
	r, token := limitedAPI(t, issuer, Options{})
	results := make(chan error, 8)
	for number := range 8 {
		go func() {
			_, err := r.Draw(context.Background(), token, DrawRequest{Key: fmt.Sprint("picture-", number), Amount: 1})
			results <- err
		}()
	}
	passed := 0
	for range 8 {
		if err := <-results; err == nil {
			passed++
		} else {
			refusal := refusalOf(t, err, 403, "uses_exceeded")
			if !strings.Contains(refusal.WWWAuthenticate, `error="insufficient_scope"`) || !strings.Contains(refusal.WWWAuthenticate, `scope="pay"`) {
				t.Error(refusal.WWWAuthenticate)
			}
		}
	}
	equal(t, passed, 2)
}

func TestAFaultOfTheAPIIsLoggedAndAnIssuerWithoutAnAnswerIs503(t *testing.T) {
	issuer := startIssuer(t)
	draws := addDraws(issuer)
	r, token := limitedAPI(t, issuer, Options{})
	var written bytes.Buffer
	log.SetOutput(&written)
	defer log.SetOutput(os.Stderr)
	draws.refuse = "no_limit"
	_, err := r.Draw(context.Background(), token, DrawRequest{Key: "picture-7", Amount: 1})
	refusalOf(t, err, 500, "draw_no_limit")
	answer := httptest.NewRecorder()
	r.AnswerRefusal(answer, err)
	if answer.Code != 500 || answer.Header().Get("WWW-Authenticate") != "" || strings.Contains(answer.Body.String(), "a limit at") {
		t.Fatal(answer)
	}
	if !strings.Contains(written.String(), "(draw_no_limit): resource: Draw: no scope of the token has a limit at this API") {
		t.Fatal(written.String())
	}
	draws.refuse, draws.lose = "", 2
	_, err = r.Draw(context.Background(), token, DrawRequest{Key: "picture-7", Amount: 1})
	equal(t, refusalOf(t, err, 503, "issuer_unreachable").RetryAfter, 5)
}

func TestAnUnusableDrawIsNoRefusalAndSendsNoRequest(t *testing.T) {
	issuer := startIssuer(t)
	addDraws(issuer)
	r, token := limitedAPI(t, issuer, Options{})
	isFault := func(err error) {
		t.Helper()
		if _, isRefusal := err.(*Error); err == nil || isRefusal {
			t.Fatal(err)
		}
	}
	for _, request := range []DrawRequest{{"", 1}, {"a b", 1}, {"a\n", 1}, {strings.Repeat("k", 65), 1}, {"k", -1}, {"k", largestAmount + 1}} {
		_, err := r.Draw(context.Background(), token, request)
		isFault(err)
		_, err = r.GiveBack(context.Background(), GiveBackRequest{grantOfLimit, request.Key, request.Amount})
		isFault(err)
	}
	_, err := r.GiveBack(context.Background(), GiveBackRequest{"another", "k", 1})
	isFault(err)
	_, err = resourceOf(t, issuer, Options{Introspection: credentials}).Draw(context.Background(), token, DrawRequest{"k", 1})
	isFault(err)
	equal(t, issuer.requests("/oauth/draw"), 0)
}
