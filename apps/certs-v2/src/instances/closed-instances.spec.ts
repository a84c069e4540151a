import { withinDatabaseTime } from '@certwright/core-schema';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { Expansion } from '../wire/expansion';
import { ClosedInstances } from './closed-instances';
import type { InstanceJson } from './instance-json';
import type { InstanceViews } from './instance-views';

const shown = { state: 'canceled' } as unknown as InstanceJson;

const closedOver = (ofIssuances: InstanceViews['ofIssuances']) =>
  new ClosedInstances({ ofIssuances } as unknown as InstanceViews);

const settled = async (shows: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(shows)).map(({ status }) => status);

it('does not end the read of one client when the database time of another is over', async () => {
  const core = await CoreDatabaseFixture.open();
  try {
    const closed = closedOver(async (requested) => {
      await core.database.query('SELECT pg_sleep($1)', [1]);
      return requested.map(() => shown);
    });
    const shows = [300, 60_000].map((ms, at) =>
      withinDatabaseTime(ms, () => closed.show(String(at), Expansion.none)),
    );
    expect(await settled(shows)).toEqual(['rejected', 'fulfilled']);
  } finally {
    await core.close();
  }
});

it('reports an error only to the client whose instance it is', async () => {
  const closed = closedOver((requested) =>
    requested.some(({ issuanceId }) => issuanceId === 'bad')
      ? Promise.reject(new Error('bad'))
      : Promise.resolve(requested.map(() => shown)),
  );
  const shows = ['a', 'bad', 'b'].map((issuanceId) => closed.show(issuanceId, Expansion.none));
  expect(await settled(shows)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
