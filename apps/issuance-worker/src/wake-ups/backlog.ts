/**
 * Max issuances waiting on Redis, about two seconds of one worker's work; all other due work waits in PostgreSQL,
 * where the sweep chooses fairly. A queue of all due work would be served in insertion order.
 */
export const maxWaitingIssuances = 256;

/** The same for mails, of which one notifier sends four at a time. */
export const maxWaitingMails = 32;

/** The same for revocations, of which a worker requests four at a time. */
export const maxWaitingRevocations = 32;

/** The same for DNS integrations, of which a worker processes 16 at a time: with slow providers, one takes up to 40 s. */
export const maxWaitingIntegrations = 16;
