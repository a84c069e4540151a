/**
 * Max issuances waiting on Redis, about two seconds of one worker's work; all other due work waits in PostgreSQL,
 * where the sweep chooses fairly. A queue of all due work would be served in insertion order.
 */
export const maxWaitingIssuances = 256;
