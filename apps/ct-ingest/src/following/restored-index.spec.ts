import { FakeLog } from '../testing/fake-log';
import { forgeMany, forgePair } from '../testing/forged-entries';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(60_000);

let ingest: IngestFixture;
let log: FakeLog;
beforeAll(async () => {
  ingest = await IngestFixture.open();
  log = await FakeLog.open('rfc6962', forgeMany(10));
  await ingest.keep(log);
});
afterAll(async () => {
  await log.close();
  await ingest.close();
});

/** As a backup from before the first entry. Ids of issuers are not used again, so that a stale one is detected. */
async function restore(): Promise<void> {
  await ingest.empty();
  await ingest.database.query('DELETE FROM ct_issuer');
  await ingest.database.query('UPDATE ct_sequence SET next = 1');
  await ingest.keep(log);
}

const stored = `
  SELECT position, encode(tbs_sha256, 'hex') AS tbs, issuer.name_der IS NOT NULL AS has_issuer
  FROM ct_issuance LEFT JOIN ct_issuer AS issuer ON issuer.id = issuer ORDER BY position`;

it('an index that was restored from a backup gets everything again from the process that had stored it', async () => {
  const follower = ingest.follower();
  expect(await ingest.turn(follower)).toMatchObject({ position: '10' });
  const before = await ingest.database.query<{ has_issuer: boolean }[]>(stored);
  expect(before.length).toBeGreaterThan(0);
  expect(before.every(({ has_issuer }) => has_issuer)).toBe(true);
  expect(ingest.restored).toBe(0);
  await restore();
  expect(await ingest.turn(follower)).toMatchObject({ position: '10' });
  expect(await ingest.database.query(stored)).toEqual(before);
  expect(ingest.restored).toBe(1);
});

it('after a fail-over that lost commits, a turn that had begun before stores nothing with ids that were lost', async () => {
  const logs = [await ingest.openLog('rfc6962', 10, 200), await ingest.openLog('rfc6962', 10, 100)];
  const follower = ingest.follower();
  const restoredBefore = ingest.restored;
  let hasFailedOver = false;
  /** While one log responds, the other is ingested; the new primary lacks that and has the lease of the first. */
  const failOver = async () => {
    hasFailedOver = true;
    expect(await ingest.turn(follower)).toMatchObject({ position: '10' });
    for (const table of ['ct_issuance', 'ct_run', 'ct_block', 'ct_known', 'ct_issuer'])
      await ingest.database.query(`DELETE FROM ${table}`);
    await ingest.database.query('UPDATE ct_sequence SET next = 1');
    await ingest.database.query(
      `UPDATE ct_log SET position = 0, verified_size = 0, tree_state = '\\x', head_size = 0, head_root = NULL, head_at = NULL,
         head_signed = NULL WHERE leased_until IS NULL`,
    );
  };
  for (const each of logs)
    each.intercept = async (path) => {
      if (path.includes('get-entries') && !hasFailedOver) await failOver();
      return false;
    };
  for (let turn = 0; turn < 5; turn += 1) await ingest.turn(follower);
  const rows = await ingest.database.query<{ has_issuer: boolean }[]>(stored);
  expect(rows.filter(({ has_issuer }) => !has_issuer)).toEqual([]);
  expect(rows.length).toBeGreaterThan(0);
  expect(ingest.restored).toBe(restoredBefore + 1);
});

it('after a fail-over that lost an issuer and a list but no issuance, new issuances name rows that exist', async () => {
  await ingest.empty();
  const grown = await ingest.openLog('rfc6962', 10, 300);
  const follower = ingest.follower();
  expect(await ingest.turn(follower)).toMatchObject({ position: '10' });
  await ingest.database.query('DELETE FROM ct_issuer');
  grown.add(forgeMany(10, 400));
  // The turn that finds it does not release its lease.
  await ingest.turn(follower);
  await ingest.database.query('UPDATE ct_log SET leased_until = NULL');
  expect(await ingest.turn(follower)).toMatchObject({ position: '20' });
  const rows = await ingest.database.query<{ has_issuer: boolean }[]>(stored);
  expect(rows.slice(5).map(({ has_issuer }) => has_issuer)).toEqual([true, true, true, true, true]);
});

it('after a fail-over that lost only a completion, the certificate is stored again', async () => {
  await ingest.empty();
  const { precertificate, certificate } = forgePair(500);
  const grown = await ingest.openLog('rfc6962', 0);
  const follower = ingest.follower();
  grown.add([precertificate]);
  expect(await ingest.turn(follower)).toMatchObject({ position: '1' });
  const [before] = await ingest.database.query<[Record<string, unknown>]>(
    `SELECT position, verified_size, tree_state, head_size, head_root, head_at, head_signed FROM ct_log`,
  );
  grown.add([certificate]);
  expect(await ingest.turn(follower)).toMatchObject({ position: '2' });
  const isPrecertificate = async () => await ingest.database.query(`SELECT precertificate FROM ct_issuance`);
  expect(await isPrecertificate()).toEqual([{ precertificate: false }]);
  await ingest.database.query(`UPDATE ct_issuance SET precertificate = true`);
  const columns = Object.keys(before);
  await ingest.database.query(
    `UPDATE ct_log SET (${columns.join()}) = (${columns.map((_, nth) => `$${nth + 1}`).join()})`,
    Object.values(before),
  );
  expect(await ingest.turn(follower)).toMatchObject({ position: '2' });
  expect(await isPrecertificate()).toEqual([{ precertificate: false }]);
});

it('positions that belong to other issuances now show that the index was restored', async () => {
  await ingest.database.query(
    `UPDATE ct_issuance SET tbs_sha256 = sha256('other') WHERE position = (SELECT max(position) FROM ct_issuance)`,
  );
  expect(await ingest.logs.lacksCommitted(await ingest.log())).toBe(true);
  expect(await ingest.logs.lacksCommitted(await ingest.log())).toBe(false);
});
