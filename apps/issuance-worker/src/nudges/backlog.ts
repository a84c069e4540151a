/**
 * Issuances that wait on Redis, about two seconds of one worker's work; whatever else is due waits in PostgreSQL, where
 * the sweep chooses fairly. A queue of all that is due would be served in the order in which it was filled.
 */
export const mostWaitingIssuances = 256;
