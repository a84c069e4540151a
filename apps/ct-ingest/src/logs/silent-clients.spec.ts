import { eventually } from '@certwright/testing';
import { Client } from 'pg';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { IssuerIds, storeIssuances } from '@certwright/ct-index';
import { endSilentClients } from './silent-clients';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
const ids = new IssuerIds();
beforeAll(async () => {
  ct = await CtDatabaseFixture.open();
  await ids.ensure(ct.database.manager, [anIssuance('example.com').issuer]);
});
afterAll(async () => await ct.close());

const copy = 'COPY ct_run FROM STDIN (FORMAT binary)';
const longResult = `SELECT repeat('x', 2000) FROM generate_series(1, 20000)`;

/** Members of a `pg` connection that its type lacks. */
interface Wire {
  readonly connection: { query(text: string): void; readonly stream: { pause(): void; resume(): void } };
}

/** A process that holds the sequencer and freezes during a statement. */
async function frozen(statement: string, applicationName: string) {
  const client = new Client({ connectionString: ct.url, application_name: applicationName });
  const ended = new Promise<void>((resolve) => client.on('error', () => undefined).on('end', resolve));
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT next FROM ct_sequence FOR UPDATE');
  const { connection } = client as unknown as Wire;
  connection.stream.pause();
  connection.query(statement);
  await eventually(async () => {
    const waiting: unknown[] = await ct.database.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND query = $1 AND state = 'active' AND wait_event_type = 'Client'`,
      [statement],
    );
    expect(waiting).toHaveLength(1);
  });
  const end = async () => {
    connection.stream.resume();
    await client.end();
  };
  return { ended, end, wakesUp: () => connection.stream.resume() };
}

it.each([copy, longResult])(
  'a frozen process is disconnected, and blocks no others: %s',
  async (statement) => {
    const { ended, wakesUp } = await frozen(statement, 'spec');
    const stored = ct.database.transaction(
      async (tx) => await storeIssuances(tx, ids, [anIssuance('example.com')], [null]),
    );
    expect(await endSilentClients(ct.database, 60_000)).toBe(0);
    expect(await endSilentClients(ct.database, 0)).toBe(1);
    expect(await stored).toEqual({ discovered: 1, completed: 0 });
    wakesUp();
    await ended;
  },
);

it('sessions with another name, and active ones, are not ended', async () => {
  const { end } = await frozen(longResult, 'pg_dump');
  const working = ct.database.query('SELECT pg_sleep(0.2)');
  expect(await endSilentClients(ct.database, 0)).toBe(0);
  await working;
  await end();
});
