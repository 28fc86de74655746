package resource

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"
)

const deepestAction = 64

// digestOfAction returns the SHA-256 of the canonical form of a JSON value (RFC 8785), in base64url: what the user signs.
func digestOfAction(action any) (string, error) {
	text, err := canonicalJSON(action)
	if err != nil {
		return "", fmt.Errorf("resource: Action: %w", err)
	}
	digest := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(digest[:]), nil
}

func canonicalJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return "", err
	}
	return writeCanonical(plain, 1)
}

func writeCanonical(value any, level int) (string, error) {
	switch value := value.(type) {
	case json.Number:
		return writeNumber(value)
	case string:
		return writeText(value)
	case []any:
		written := make([]string, len(value))
		for index, each := range value {
			var err error
			if written[index], err = writeCanonical(each, level+1); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(written, ",") + "]", depthError(level)
	case map[string]any:
		return writeObject(value, level)
	}
	text, err := json.Marshal(value) // null, true or false
	return string(text), err
}

func depthError(level int) error {
	if level > deepestAction {
		return fmt.Errorf("nested more than %d levels deep", deepestAction)
	}
	return nil
}

// writeObject orders members by UTF-16 code units (RFC 8785 §3.2.3).
func writeObject(object map[string]any, level int) (string, error) {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
	written := make([]string, len(names))
	for index, name := range names {
		text, err := writeText(name)
		if err != nil {
			return "", err
		}
		member, err := writeCanonical(object[name], level+1)
		if err != nil {
			return "", err
		}
		written[index] = text + ":" + member
	}
	return "{" + strings.Join(written, ",") + "}", depthError(level)
}

// writeNumber relies on encoding/json, which writes a double as ECMAScript does (RFC 8785 §3.2.2.3). An integer that a double cannot hold is refused:
// two amounts would have one digest.
func writeNumber(number json.Number) (string, error) {
	double, err := number.Float64()
	if err != nil {
		return "", err
	}
	whole, isWhole := new(big.Int).SetString(number.String(), 10)
	if exact, _ := big.NewFloat(double).Int(nil); isWhole && exact.Cmp(whole) != 0 {
		return "", fmt.Errorf("%s is not exact in JSON: write it as a string", number)
	}
	if double == 0 {
		return "0", nil // also for -0
	}
	text, err := json.Marshal(double)
	return string(text), err
}

// writeText escapes as ECMAScript does (RFC 8785 §3.2.2.2), which differs from encoding/json.
func writeText(text string) (string, error) {
	// For bytes that are no UTF-8, encoding/json writes U+FFFD, so two texts would have one digest.
	if strings.ContainsRune(text, '\uFFFD') {
		return "", errors.New("a text is no UTF-8")
	}
	var out strings.Builder
	for _, char := range text {
		if short := strings.IndexRune("\b\t\n\f\r\"\\", char); short >= 0 {
			out.WriteString(`\` + `btnfr"\`[short:short+1])
		} else if char < 0x20 {
			fmt.Fprintf(&out, `\u%04x`, char)
		} else {
			out.WriteRune(char)
		}
	}
	return `"` + out.String() + `"`, nil
}
