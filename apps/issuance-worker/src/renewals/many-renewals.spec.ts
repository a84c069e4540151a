import { CoreDatabaseFixture } from '@certwright/core-testing';
import { issueOpen, manyPlans } from '@certwright/core-testing';
import type { Renewals } from './renewals.repository';
import { renewalsOver } from './testing/stored-renewals';

const orders = 100_000;
const days = 90;
const dayMs = 86_400_000;
const round = 2_000;
const start = new Date('2026-11-20T00:00:00Z');

let core: CoreDatabaseFixture;
let renewals: Renewals;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  renewals = renewalsOver(core.database);
  await manyPlans(core.database, await core.account('1000000000001'), orders, start);
}, 180_000);
afterAll(async () => await core.close());

const count = async (select: string, parameters: unknown[] = []) => {
  const [row] = await core.database.query<[{ count: number }]>(
    `SELECT count(*)::int AS count ${select}`,
    parameters,
  );
  return row.count;
};

/** Runs rounds until one is not full, like a worker. */
async function openDue(now: Date): Promise<number> {
  let opened = 0;
  for (let more = true; more;) {
    const result = await renewals.openDue(round, now);
    opened += result.opened;
    more = result.found === round;
  }
  return opened;
}

describe(`${orders} orders whose certificates end within ${days} days`, () => {
  it('are renewed once each before the end, with the clock driven day by day', async () => {
    let opened = 0;
    let issued = 0;
    let expired = 0;
    for (let day = 0; day <= days; day += 1) {
      const now = new Date(start.getTime() + day * dayMs);
      opened += await openDue(now);
      issued += await issueOpen(core.database, now);
      expired += await count(`FROM certificate WHERE is_current AND not_after < $1`, [now]);
    }
    expect({
      expired,
      replacedTwice: await count(
        `FROM (SELECT 1 FROM issuance WHERE replaces_certificate_id IS NOT NULL
               GROUP BY replaces_certificate_id HAVING count(*) > 1) AS twice`,
      ),
      currents: await count(`FROM certificate WHERE is_current`),
      opened,
      issued,
    }).toEqual({ expired: 0, replacedTwice: 0, currents: orders, opened: orders, issued: orders });
  }, 240_000);
});
