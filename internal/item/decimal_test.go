package item_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/item"
)

func number() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`[0-9]{1,19}`).Draw(t, "whole")
		text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + digits
		if f := rapid.StringMatching(`[0-9]{0,18}`).Draw(t, "fraction"); f != "" {
			text += "." + f
		}
		return text
	})
}

func rat(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

func TestDecimal_SumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := number().Draw(t, "a"), number().Draw(t, "b")
		x, err := item.ParseDecimal(a)
		require.NoError(t, err)
		y, err := item.ParseDecimal(b)
		require.NoError(t, err)
		require.Zero(t, rat(x.String()).Cmp(rat(a)), "%s became %s", a, x)
		require.Equal(t, rat(a).Cmp(rat(b)), x.Cmp(y))
		sum, err := x.Add(y)
		want := new(big.Rat).Add(rat(a), rat(b))
		if err != nil {
			require.ErrorIs(t, err, item.ErrNumber) // more than 38 digits
			return
		}
		require.Zero(t, rat(sum.String()).Cmp(want), "%s + %s = %s", a, b, sum)
	})
}

func TestDecimal_WhatDynamoDBCannotKeepIsRefused(t *testing.T) {
	for _, text := range []string{"", "-", ".", "NaN", "+Inf", "Infinity", "0x10", "1_000", "1e", "--1", "1e126", "1e-131", strings.Repeat("9", 39), "1e99999999999", "1.2.3", " 1"} {
		_, err := item.ParseDecimal(text)
		require.ErrorIs(t, err, item.ErrNumber, "%q", text)
	}
	for text, want := range map[string]string{"0": "0", "-0": "0", "000": "0", "0.000": "0", "1e3": "1000", "1E-3": "0.001", "-1.50": "-1.5", "10": "10", strings.Repeat("9", 38): strings.Repeat("9", 38), "1e125": "1" + strings.Repeat("0", 125)} {
		d, err := item.ParseDecimal(text)
		require.NoError(t, err, text)
		require.Equal(t, want, d.String(), text)
	}
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"1", "-1.5e10", "NaN", "", "1e-130", strings.Repeat("1", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := item.ParseDecimal(s)
		if err != nil {
			return
		}
		again, err := item.ParseDecimal(d.String())
		require.NoError(t, err, fmt.Sprintf("%q → %q", s, d))
		require.Zero(t, again.Cmp(d))
	})
}
