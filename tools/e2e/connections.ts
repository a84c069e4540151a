import { readFileSync } from 'node:fs';
import path from 'node:path';
import { rawRedis } from '@certwright/testing';
import { Client } from 'pg';

/** Connections to one database. */
interface Bound {
  readonly max: number;
  /** The setting with that default; null: the process does not use the database. */
  readonly setting: string | null;
}

/** The table of docs/operating.md, "Connections and polling", by process. */
export function documentedConnections(): ReadonlyMap<
  string,
  { readonly redis: number; readonly core: Bound; readonly ct: Bound }
> {
  const operating = readFileSync(path.join(__dirname, '../../docs/operating.md'), 'utf8');
  const [, after = ''] = operating.split('\n## Connections and polling\n');
  const [section = ''] = after.split('\n## ');
  const [table = ''] = section.split('\n\n').filter((block) => block.startsWith('| process'));
  const rows = table.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.map((line) => {
      const [, process = '', redis = '', core = '', ct = ''] = line.split('|').map((cell) => cell.trim());
      return [process.replaceAll('`', ''), { redis: Number(redis), core: boundOf(core), ct: boundOf(ct) }];
    }),
  );
}

function boundOf(cell: string): Bound {
  const [, max = '0', setting = null] = /^max (\d+), `(\w+)`$/.exec(cell) ?? [];
  return { max: Number(max), setting };
}

/** Open connections by process: of pools, and of Redis by the names that begin with the process. */
export async function connectionsAtRest(databaseUrl: string, redisUrl: string) {
  const database = new Client({ connectionString: databaseUrl });
  const redis = rawRedis(redisUrl);
  try {
    await database.connect();
    const { rows } = await database.query<{ name: string; isCt: boolean; count: number }>(
      `SELECT application_name AS name, datname LIKE '%\\_ct' AS "isCt", count(*)::int FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND application_name <> '' GROUP BY 1, 2`,
    );
    const clients = String(await redis.client('LIST'));
    const open = new Map<string, { redis: number; core: number; ct: number }>();
    const of = (process: string) => {
      const counts = open.get(process) ?? { redis: 0, core: 0, ct: 0 };
      open.set(process, counts);
      return counts;
    };
    for (const { name, isCt, count } of rows) of(name)[isCt ? 'ct' : 'core'] += count;
    // The longest first: monitoring-worker is not monitoring.
    const processes = [...documentedConnections().keys()].sort((one, other) => other.length - one.length);
    // `spec` is this connection.
    for (const [, name = ''] of clients.matchAll(/ name=(?!spec )(\S+)/g))
      of(processes.find((process) => name.startsWith(`${process}-`)) ?? name).redis += 1;
    return open;
  } finally {
    redis.disconnect();
    await database.end();
  }
}
