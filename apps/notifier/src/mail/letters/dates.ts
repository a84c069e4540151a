/** The day in UTC, as ISO 8601 writes it. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

/** To the minute, with the time zone. */
export const instantOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
