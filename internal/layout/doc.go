// Package layout describes what stands on disk, as docs/entities.md and the pages about features say: the hidden attributes of an item, the
// items related to it, the form that it is stored in, and the conditions about these. A stored item is opened here, and nowhere else.
package layout
