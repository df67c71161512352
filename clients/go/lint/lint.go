//go:build lint

// Package lint pins the linter, so that the library does not depend on it.
package lint

import _ "honnef.co/go/tools/cmd/staticcheck"
