import { parseArgs } from 'node:util';

export const usage = `Migrates the core database, and the ct database if CT_DATABASE_URL is set.

  npm run migrate                     runs the pending migrations, then creates missing roles, updates the grants of
                                      each role to the declared ones, and sets the timeouts that a role lacks
  npm run migrate -- --database ct    migrates only one of them: core or ct
  npm run migrate -- --revert         reverts the newest migration of core, or of ct with --database ct
  npm run migrate -- --create         first creates the ct database, if it is missing, on the server of DATABASE_URL
  npm run migrate -- --distribute     migrates, and then distributes the tables of the ct database over the servers of Citus,
                                      with their rows. Stop the processes that use the database before, and start them
                                      after it. Repeatable; later migrations need no option
  npm run migrate -- --check-drift    fails if entities and migrations differ; uses an empty database of its own
  npm run migrate -- --wait-locks 60  how long to wait for tables that other transactions have locked, in seconds (default
                                      600). A migration waits 3 s at a time, so that requests do not queue behind it
  npm run migrate -- --roles          prints the table of roles in docs/operating.md
  npm run migrate -- --help

DATABASE_URL      the core database, postgres://user:password@host:port/name (with --check-drift: any database of a
                  server on which the user may create databases)
CT_DATABASE_URL   the ct database; if it is not set, only the core database is migrated
                  Each may be in a file: DATABASE_URL_FILE, CT_DATABASE_URL_FILE
DATABASE_ROLE_PREFIX         prefix of the names of roles; default certwright_, as in certwright_orders_v3
DATABASE_ROLE_PASSWORDS_DIR  folder with a file for each role that logs in by password, named after its process
                             (orders-v3); without a file the password of a role does not change
`;

export interface MigrateArguments {
  /** Null: both. */
  readonly database: 'core' | 'ct' | null;
  readonly revert: boolean;
  readonly create: boolean;
  readonly distribute: boolean;
  readonly checkDrift: boolean;
  readonly roles: boolean;
  readonly help: boolean;
  readonly waitLocksMs: number;
}

/**
 * Strict: with an option that is misspelled and ignored, `--revert` would revert a migration of the other database.
 *
 * @throws Error with the usage
 */
export function readArguments(args: readonly string[]): MigrateArguments {
  const { values } = parsed(args);
  const { database, 'wait-locks': waitLocks = '600' } = values;
  if (database !== undefined && database !== 'core' && database !== 'ct')
    throw new Error(`--database must be core or ct.\n\n${usage}`);
  const others = (['create', 'distribute', 'check-drift'] as const).filter((name) => values[name]);
  if (values.revert && others[0] !== undefined)
    throw new Error(`--revert cannot be combined with --${others[0]}.\n\n${usage}`);
  if (!/^\d{1,6}$/.test(waitLocks))
    throw new Error(`--wait-locks must be a whole number of seconds.\n\n${usage}`);
  return {
    database: database ?? null,
    revert: values.revert ?? false,
    create: values.create ?? false,
    distribute: values.distribute ?? false,
    checkDrift: values['check-drift'] ?? false,
    roles: values.roles ?? false,
    help: values.help ?? false,
    waitLocksMs: Number(waitLocks) * 1_000,
  };
}

function parsed(args: readonly string[]) {
  const flag = { type: 'boolean' } as const;
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...{ database: text, revert: flag, create: flag, distribute: flag },
        ...{ 'check-drift': flag, roles: flag, help: flag, 'wait-locks': text },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`, { cause: error });
  }
}
