// Package browser looks at the pages of the studio in Chromium.
package browser
