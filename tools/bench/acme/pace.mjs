// How fast a client that can be told looks again, ms: a CA on the same machine is done in a few. Doubled each time.
export const firstLookMs = 20;
export const longestLookMs = 160;
/** A client that did not end by then has failed, ms. */
export const patienceMs = 60_000;
