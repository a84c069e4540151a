import { Client } from 'pg';

const realDate = Date;

/**
 * A clock that only advances when it is set, for a database and for this process.
 *
 * In the database, functions named `now()`, `clock_timestamp()` and so on in the schema `public` replace PostgreSQL's, because the
 * database's `search_path` names `public` before `pg_catalog`. The platform's statements are unchanged. In this process
 * `Date` returns the simulated time; `performance.now()` and timers work as usual.
 *
 * Both times are the same whole second, within transactions too.
 */
export class DrivenClock {
  private constructor(
    private readonly client: Client,
    private seconds: number,
  ) {}

  /** @param databaseUrl of a migrated database without other sessions; only sessions that begin later see the simulated time */
  static async start(databaseUrl: string, at: Date): Promise<DrivenClock> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await rebindDefaults(client);
    const clock = new DrivenClock(client, 0);
    await clock.set(at);
    globalThis.Date = clock.drivenDate();
    return clock;
  }

  now(): Date {
    return new realDate(this.seconds * 1_000);
  }

  async set(at: Date): Promise<void> {
    const seconds = Math.floor(at.getTime() / 1_000);
    if (seconds < this.seconds) throw new RangeError('driven time does not go back');
    await this.client.query(`SELECT setval('driven_clock', $1)`, [seconds]);
    this.seconds = seconds;
  }

  async stop(): Promise<void> {
    globalThis.Date = realDate;
    await this.client.end();
  }

  private drivenDate(): DateConstructor {
    const nowMs = () => this.seconds * 1_000;
    return new Proxy(realDate, {
      construct: (target, args: unknown[]) =>
        Reflect.construct(target, args.length === 0 ? [nowMs()] : args) as Date,
      get: (target, name, receiver) =>
        name === 'now' ? nowMs : (Reflect.get(target, name, receiver) as unknown),
    });
  }
}

/** A sequence, not a table: reading it needs no query, which makes the functions fast. */
const drivenNow = `to_timestamp(pg_catalog.pg_sequence_last_value('public.driven_clock'::regclass))`;

const timeFunction = (name: string, volatility: 'STABLE' | 'VOLATILE') =>
  `CREATE FUNCTION public.${name}() RETURNS timestamptz LANGUAGE plpgsql ${volatility} COST 1
   AS $$ BEGIN RETURN ${drivenNow}; END $$`;

const statements = [
  `CREATE SEQUENCE public.driven_clock`,
  `GRANT SELECT ON SEQUENCE public.driven_clock TO PUBLIC`,
  timeFunction('now', 'STABLE'),
  timeFunction('transaction_timestamp', 'STABLE'),
  timeFunction('statement_timestamp', 'STABLE'),
  timeFunction('clock_timestamp', 'VOLATILE'),
  `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`,
  `SET search_path = public, pg_catalog`,
];

/** A column default is bound to the function that existed when the column was created. */
async function rebindDefaults(client: Client): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `SELECT format('%I', table_name) AS table, format('%I', column_name) AS column FROM information_schema.columns
     WHERE table_schema = 'public' AND column_default IN ('pg_catalog.now()', 'now()')`,
  );
  if (rows.length === 0) throw new Error('no column has a default of now(): the database is not migrated');
  for (const { table, column } of rows)
    await client.query(`ALTER TABLE ${table} ALTER COLUMN ${column} SET DEFAULT now()`);
}
