import { CoreDatabaseFixture } from '@certwright/core-testing';
import { claimDeployment } from './deployment';
import { findHold, issuancesAreHeld, watchTimeline } from './issuance-hold';

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await claimDeployment(core.database, 'sandbox');
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(
    `UPDATE deployment SET held_since = NULL, hold_reason = NULL, timeline = NULL, timeline_seen_at = NULL`,
  );
});

const isHeld = async () => {
  const [row] = await core.database.query<[{ held: boolean }]>(`SELECT ${issuancesAreHeld} AS held`);
  return row.held;
};

/** As a backup that was taken then, on another timeline. */
const seen = async (age: string, timeline = 'FFFFFFFF') =>
  await core.database.query(`UPDATE deployment SET timeline = $1, timeline_seen_at = now() - $2::interval`, [
    timeline,
    age,
  ]);

describe('watchTimeline', () => {
  it('stores the timeline of a database that it sees for the first time', async () => {
    expect(await watchTimeline(core.database)).toBeNull();
    const [row] = await core.database.query<[{ timeline: string }]>(`SELECT timeline FROM deployment`);
    expect(row.timeline).toMatch(/^[0-9A-F]{8}$/);
  });

  it('holds issuances when the timeline is new and no worker has used the database for long', async () => {
    await seen('11 minutes');
    expect(await watchTimeline(core.database)).toMatchObject({
      reason: expect.stringContaining('changed from FFFFFFFF to ') as string,
    });
    expect(await isHeld()).toBe(true);
    // Until it is released, whatever workers see.
    expect(await watchTimeline(core.database)).not.toBeNull();
    expect(await findHold(core.database)).not.toBeNull();
  });

  it('does not hold after a failover while workers ran', async () => {
    await seen('1 minute');
    expect(await watchTimeline(core.database)).toBeNull();
    expect(await isHeld()).toBe(false);
  });

  it('does not hold after all workers were stopped for long', async () => {
    await watchTimeline(core.database);
    await core.database.query(`UPDATE deployment SET timeline_seen_at = now() - interval '1 day'`);
    expect(await watchTimeline(core.database)).toBeNull();
  });

  it('works before the migration that adds its columns', async () => {
    await core.database.query('ALTER TABLE deployment RENAME COLUMN held_since TO other');
    try {
      expect(await isHeld()).toBe(false);
      expect(await watchTimeline(core.database)).toBeNull();
    } finally {
      await core.database.query('ALTER TABLE deployment RENAME COLUMN other TO held_since');
    }
  });
});
