package resource

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"strings"
)

// jws is a signed message of the issuer, whose claims are not checked yet.
type jws struct {
	typ, keyID string
	payload    []byte
}

// verify checks the signature of a JWS in compact form with a key of the issuer (RFC 7515 §5.2).
func (i *issuer) verify(ctx context.Context, text string) (*jws, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, invalidToken("malformed")
	}
	var bytes [3][]byte
	for index, part := range parts {
		var err error
		// Strict: a signature that ends with stray bits would be a second spelling of the same token.
		if bytes[index], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return nil, invalidToken("malformed")
		}
	}
	header, err := decodeObject(bytes[0])
	// RFC 7515 §4.1.11: crit lists extensions that must be understood. No extension is supported.
	if err != nil || header["crit"] != nil || header["b64"] != nil {
		return nil, invalidToken("malformed")
	}
	algorithm, _ := header["alg"].(string)
	if algorithm != "ES256" && algorithm != "EdDSA" && algorithm != "RS256" {
		return nil, invalidToken("algorithm")
	}
	keyID, _ := header["kid"].(string)
	found, err := i.find(ctx, keyID)
	if err != nil {
		return nil, err
	}
	key := found.keys[keyID]
	if key == nil || keyID == "" || algorithm != algorithmOf(key) {
		return nil, invalidToken("unknown_key")
	}
	if !isSigned(key, []byte(parts[0]+"."+parts[1]), bytes[2]) {
		return nil, invalidToken("signature")
	}
	typ, _ := header["typ"].(string)
	// RFC 7515 §4.1.9: typ may leave out application/, and case does not matter.
	return &jws{strings.TrimPrefix(strings.ToLower(typ), "application/"), keyID, bytes[1]}, nil
}

// algorithmOf makes the key decide: a header cannot choose another algorithm.
func algorithmOf(key crypto.PublicKey) string {
	switch key.(type) {
	case *ecdsa.PublicKey:
		return "ES256"
	case ed25519.PublicKey:
		return "EdDSA"
	default:
		return "RS256"
	}
}

func isSigned(key crypto.PublicKey, signed, signature []byte) bool {
	digest := sha256.Sum256(signed)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if len(signature) != 64 {
			return false
		}
		return ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case ed25519.PublicKey:
		return ed25519.Verify(key, signed, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil
	}
	return false
}

// publicKeys returns the keys of a JWK Set that can sign as Grantor does (RFC 7517, RFC 7518 §6, RFC 8037), by their kid.
func publicKeys(set map[string]any) map[string]crypto.PublicKey {
	found := map[string]crypto.PublicKey{}
	list, _ := set["keys"].([]any)
	for _, each := range list {
		jwk, _ := each.(map[string]any)
		id, _ := jwk["kid"].(string)
		key := publicKey(jwk)
		isForOther := (jwk["use"] != nil && jwk["use"] != "sig") || (jwk["alg"] != nil && key != nil && jwk["alg"] != algorithmOf(key))
		if id != "" && key != nil && !isForOther {
			found[id] = key
		}
	}
	return found
}

func publicKey(jwk map[string]any) crypto.PublicKey {
	number := func(name string) []byte {
		text, _ := jwk[name].(string)
		bytes, _ := base64.RawURLEncoding.DecodeString(text)
		return bytes
	}
	switch x, n, e := number("x"), number("n"), number("e"); {
	case jwk["kty"] == "EC" && jwk["crv"] == "P-256":
		y := number("y")
		key := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if _, err := key.ECDH(); err == nil && len(x) == 32 && len(y) == 32 { // the point is on the curve
			return key
		}
	case jwk["kty"] == "OKP" && jwk["crv"] == "Ed25519" && len(x) == ed25519.PublicKeySize:
		return ed25519.PublicKey(x)
	case jwk["kty"] == "RSA" && len(n) >= 256 && len(n) <= 1024 && len(e) > 0 && len(e) <= 4:
		return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return nil
}
