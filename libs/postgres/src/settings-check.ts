import { setTimeout as delay } from 'node:timers/promises';
import type { DatabasePooler } from './database-pool';
import type { Transaction } from './roles/apply-grants';
import { alterRole, type SessionSettings } from './session-settings';

const pollMs = 2_000;

/**
 * Behind a pooler a process cannot set its session. What is wrong with the session that it gets, and the statements that
 * correct it; null: nothing.
 */
export async function settingsProblem(
  database: Transaction,
  settings: SessionSettings,
): Promise<string | null> {
  const effective = await database.query<
    { role: string; database: string; name: string; value: string; unit: string }[]
  >(
    `SELECT session_user AS role, current_database() AS database, name, setting AS value, coalesce(unit, '') AS unit
     FROM pg_settings WHERE name = ANY ($1::text[]) ORDER BY name`,
    [Object.keys(settings)],
  );
  const wrong = effective.filter(({ name, value }) => value !== String(settings[name]));
  const [first] = wrong;
  if (first === undefined) return null;
  const found = wrong.map(
    ({ name, value, unit }) => `${name} is ${value}${unit} and must be ${settings[name]}${unit}`,
  );
  const statements = wrong.map(({ role, database: name, ...wrongOne }) =>
    alterRole(role, name, wrongOne.name, settings[wrongOne.name] ?? ''),
  );
  return (
    `With DATABASE_POOLER the role "${first.role}" needs other settings in the database "${first.database}": ${found.join('; ')}. ` +
    `Run \`npm run migrate\`, or as a superuser: ${statements.join('; ')}. Then have the pooler reconnect (PgBouncer: RECONNECT).`
  );
}

/** Waits until the sessions behind a pooler have the settings, and logs each problem once. */
export async function awaitSettings(
  database: Transaction,
  pooler: DatabasePooler | undefined,
  settings: SessionSettings,
  log: { warn(members: object, message: string): void },
): Promise<void> {
  if (pooler === undefined || pooler === 'none') return;
  let logged: string | null = null;
  for (;;) {
    const problem = await settingsProblem(database, settings);
    if (problem === null) return;
    if (problem !== logged) log.warn({ setting: 'DATABASE_POOLER' }, problem);
    logged = problem;
    await delay(pollMs);
  }
}
