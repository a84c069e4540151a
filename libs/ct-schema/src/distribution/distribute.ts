import type { DataSource, EntityManager } from 'typeorm';
import { hasCitus } from './citus';

/** Column of the rows of one server; null: each server has all rows. */
type Column = string | null;

interface Distributed {
  readonly table: string;
  readonly column: Column;
  /** Number of parts; undefined: `citus.shard_count`. */
  readonly parts?: number;
}

/**
 * The blocks of a key are on one server, with the runs that they belong to, so that a lookup is routed to it. The other tables
 * stay on the coordinator: what is read with them is read there, they are small, and statements address their rows by `ctid`,
 * lock them, and join temporary tables.
 */
const distribution: readonly Distributed[] = [
  { table: 'ct_run', column: null },
  // Four bits of the key: at most sixteen parts have any rows.
  { table: 'ct_block', column: 'shard', parts: 16 },
  { table: 'ct_issuance', column: 'position' },
];

/**
 * Of sessions on a distributed database. One connection to each server makes a commit one transaction there: what is
 * read on one server is all of a commit, or nothing.
 */
const sessionSettings = { 'citus.multi_shard_modify_mode': 'sequential' } as const;

export interface DistributedNow {
  /** Tables that were distributed by this call. */
  readonly tables: readonly string[];
  /** Servers with rows, beside the coordinator. */
  readonly servers: number;
}

/** What `distribute` would do. */
interface Plan {
  readonly left: readonly Distributed[];
  readonly servers: number;
}

/**
 * Changes nothing. The tables may be missing.
 *
 * @throws Error that says what to do: Citus or its servers are missing, or a table is distributed in another way
 */
export async function planDistribution(reader: Pick<EntityManager, 'query'>): Promise<Plan> {
  const servers = await serversOf(reader);
  const left: Distributed[] = [];
  for (const each of distribution) if (!(await isDistributed(reader, each))) left.push(each);
  return { left, servers };
}

/**
 * Distributes the tables of a migrated database, with their rows and grants. Repeatable: tables that are distributed already stay
 * as they are. A table is locked while its rows are moved.
 *
 * @throws as `planDistribution` does, before any change
 */
export async function distribute(database: DataSource): Promise<DistributedNow> {
  const { left, servers } = await planDistribution(database.manager);
  for (const each of left)
    await database.transaction(async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = 0`);
      await distributeTable(tx, each);
    });
  const [{ name }] = await database.query<[{ name: string }]>(
    `SELECT quote_ident(current_database()) AS name`,
  );
  for (const [setting, value] of Object.entries(sessionSettings))
    await database.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  return { tables: left.map(({ table }) => table), servers };
}

async function serversOf(reader: Pick<EntityManager, 'query'>): Promise<number> {
  if (!(await hasCitus(reader)))
    throw new Error(
      'The ct database has no extension Citus: add citus to shared_preload_libraries of all servers, and run CREATE EXTENSION citus in this database on each of them.',
    );
  const [{ servers, hasCoordinator }] = await reader.query<[{ servers: number; hasCoordinator: boolean }]>(
    `SELECT count(*) FILTER (WHERE shouldhaveshards AND groupid <> 0)::int AS servers,
       coalesce(bool_or(groupid = 0), false) AS "hasCoordinator"
     FROM pg_dist_node WHERE isactive AND noderole = 'primary'`,
  );
  if (!hasCoordinator)
    throw new Error(
      'Citus does not know the address of its coordinator: run SELECT citus_set_coordinator_host(host, port) in the ct database.',
    );
  if (servers === 0)
    throw new Error(
      'Citus has no workers: run SELECT citus_add_node(host, port) for each of them in the ct database.',
    );
  return servers;
}

const described = (column: Column): string =>
  column === null ? 'as a reference table' : `by hash of ${column}`;

/** @throws Error: it is distributed in another way */
async function isDistributed(
  reader: Pick<EntityManager, 'query'>,
  { table, column }: Distributed,
): Promise<boolean> {
  const [known] = await reader.query<{ how: string }[]>(
    `SELECT CASE WHEN partmethod = 'h' THEN 'by hash of ' || column_to_column_name(logicalrelid, partkey)
       WHEN partmethod <> 'n' THEN 'by ranges' WHEN repmodel = 't' THEN 'as a reference table'
       WHEN colocationid <> 0 THEN 'in a single shard' END AS how
     FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)
     -- Otherwise Citus only knows the table, which is on the coordinator.
       AND (partmethod <> 'n' OR repmodel = 't' OR colocationid <> 0)`,
    [table],
  );
  if (known === undefined) return false;
  if (known.how === described(column)) return true;
  // Citus rejects undistribute_table for a table with an identity column, as ct_run has.
  const advice =
    table === 'ct_run'
      ? 'Citus cannot undo this. Restore a dump of the ct database into a new database, and distribute that.'
      : `run SELECT undistribute_table('${table}') in the ct database, and distribute again.`;
  throw new Error(`${table} is distributed ${known.how}, and not ${described(column)}: ${advice}`);
}

async function distributeTable(tx: EntityManager, { table, column, parts }: Distributed): Promise<void> {
  if (column === null) await tx.query(`SELECT create_reference_table($1)`, [table]);
  else
    await tx.query(
      `SELECT create_distributed_table($1, $2, colocate_with => 'none', shard_count => coalesce($3, current_setting('citus.shard_count')::int))`,
      [table, column, parts],
    );
  // Citus copies the rows, and leaves the original ones on disk.
  await tx.query(`SELECT truncate_local_data_after_distributing_table($1)`, [table]);
}
