// Package timeline builds read models from history: rows of typed state, one for each group, folded from everything that
// has happened, paged, kept up to date, and seen as of any moment of the past.
package timeline
