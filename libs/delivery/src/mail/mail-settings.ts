/**
 * Whether an account wants a kind of mail, as an SQL condition on `account`. Through JSON, so that it works without the
 * column too: then the default holds.
 */
export const wantsMail = (column: 'mail_when_issued' | 'mail_when_revoked'): string =>
  `coalesce((to_jsonb(account) ->> '${column}')::boolean, true)`;
