import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { connectRedis, type RedisConnection } from '../redis-connection';
import { type ChallengePlace, ChallengeValues, type Remembered } from './challenge-values';

let redis: TestRedis;
let connection: RedisConnection;
let values: ChallengeValues;

beforeAll(async () => {
  redis = await testRedis();
  const log = { warn: () => undefined, info: () => undefined };
  connection = connectRedis(redis.access, { name: 'spec', log, commandTimeoutMs: 20_000 });
  await eventually(() => connection.ping());
  values = new ChallengeValues(connection);
});
afterAll(async () => {
  await connection.close();
  await redis.dispose();
});

let count = 0;
const freshPlace = (): ChallengePlace => `target:label${(count += 1)}`;
const lifeMs = async (place: ChallengePlace) =>
  await connection.client.pttl(`${redis.prefix}:challenges:{${place}}`);

function turnOf(remembered: Remembered): string {
  if (remembered.known) throw new Error('something is known');
  return remembered.turn;
}

describe('challenge values in Redis', () => {
  it('are remembered for at most a minute', async () => {
    const place = freshPlace();
    await values.put(place, ['one', 'two'], turnOf(await values.get(place)));
    expect(await values.get(place)).toEqual({ known: true, values: ['one', 'two'] });
    expect(await lifeMs(place)).toBeGreaterThan(10_000);
    expect(await lifeMs(place)).toBeLessThanOrEqual(60_000);
  });

  it.each([[null], [[]]])('that there is nothing (%j) is remembered for two seconds', async (nothing) => {
    const place = freshPlace();
    // Sent at once, so that Redis answers all before the time is up.
    const [, found, leftMs] = await Promise.all([
      values.put(place, nothing, ''),
      values.get(place),
      lifeMs(place),
    ]);
    expect(found).toEqual({ known: true, values: nothing });
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(2_000);
  });

  it('are forgotten at once when they have changed', async () => {
    const [one, other] = [freshPlace(), freshPlace()];
    for (const place of [one, other]) await values.put(place, [], '');
    await values.changed([one, other]);
    for (const place of [one, other]) expect(await values.get(place)).toMatchObject({ known: false });
  });

  it('that were read before a change are not remembered after it', async () => {
    const place = freshPlace();
    const before = turnOf(await values.get(place));
    await values.changed([place]);
    await values.put(place, ['old'], before);
    const after = turnOf(await values.get(place));
    await values.changed([place]);
    await values.put(place, ['old'], after);
    const now = turnOf(await values.get(place));
    await values.put(place, ['new'], now);
    expect(await values.get(place)).toEqual({ known: true, values: ['new'] });
  });

  it('survive that Redis forgets its scripts, and unreadable values count as unknown', async () => {
    const place = freshPlace();
    await connection.client.script('FLUSH');
    await values.put(place, ['one'], '');
    expect(await values.get(place)).toMatchObject({ known: true });
    for (const text of ['{', '{}', '[1]', '7']) {
      await connection.client.set(`${redis.prefix}:challenges:{${place}}`, text);
      expect(await values.get(place)).toEqual({ known: false, turn: '' });
    }
  });
});
