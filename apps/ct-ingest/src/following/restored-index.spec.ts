import { FakeLog } from '../testing/fake-log';
import { forgeMany } from '../testing/forged-entries';
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

it('positions that belong to other issuances now show that the index was restored', async () => {
  await ingest.database.query(
    `UPDATE ct_issuance SET tbs_sha256 = sha256('other') WHERE position = (SELECT max(position) FROM ct_issuance)`,
  );
  expect(await ingest.logs.lacksCommitted()).toBe(true);
  expect(await ingest.logs.lacksCommitted()).toBe(false);
});
