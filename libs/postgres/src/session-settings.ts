/**
 * Settings of PostgreSQL that a process needs in its sessions, by name, as `SET` accepts them. Without a pooler they are
 * startup parameters. Behind one, sessions are shared: the settings then belong to the role (`ALTER ROLE … IN DATABASE …
 * SET`), or to each transaction (`SET LOCAL`).
 */
export type SessionSettings = Readonly<Record<string, string | number>>;

/** The server ends a transaction whose client is silent: a frozen process must not hold a row forever. */
const idleInTransactionTimeoutMs = 10_000;

export interface StatementLimits {
  /** The server ends a statement that runs longer, ms. */
  readonly statementTimeoutMs: number;
  /**
   * Statements are planned each time, for the tables as they are. Otherwise a prepared statement keeps a plan that was made for
   * empty tables until they are analyzed, which may be minutes after they have grown. Default: false.
   */
  readonly plansEachTime?: boolean;
  /** The server ends a statement that waits longer for a lock, ms. Default: only its timeout ends it. */
  readonly lockTimeoutMs?: number;
}

export const sessionSettings = ({
  statementTimeoutMs,
  plansEachTime = false,
  lockTimeoutMs,
}: StatementLimits): SessionSettings => ({
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
  ...(lockTimeoutMs !== undefined && { lock_timeout: lockTimeoutMs }),
  ...(plansEachTime && { plan_cache_mode: 'force_custom_plan', jit: 'off' }),
});

/** As the startup parameter `options` has them. */
export const startupOptions = (settings: SessionSettings): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

/** Begins a transaction that only reads, and in which the settings apply: one message to the server. */
export const beginReading = (settings: SessionSettings): string =>
  [
    'BEGIN READ ONLY',
    ...Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = '${value}'`),
  ].join('; ');

/** @param role, database are quoted here */
export const alterRole = (role: string, database: string, name: string, value: string | number): string =>
  `ALTER ROLE "${role}" IN DATABASE "${database}" SET ${name} = '${value}'`;
