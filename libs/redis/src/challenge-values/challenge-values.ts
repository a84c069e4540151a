import { randomUUID } from 'node:crypto';
import type { RedisKeys } from '../redis-connection';
import { RedisScript } from '../redis-script';

/**
 * Where CAs query TXT values: at the target of a standing record, by its label below the approval zone, or at
 * `_acme-challenge.<name>` itself if it is delegated.
 */
export type ChallengePlace = `target:${string}` | `name:${string}`;

/** The TXT values at a place, perhaps none; null: the place does not exist. */
export type ValuesAt = readonly string[] | null;

export type Remembered =
  | { readonly known: true; readonly values: ValuesAt }
  /** Pass `turn` to `put`, which then ignores values that were read before a change. */
  | { readonly known: false; readonly turn: string };

/** Milliseconds. Maximum age of a value when `changed` did not reach Redis. */
const valuesLifeMs = 30_000;
/** Lifetime of "no values", which the next order changes. */
const nothingLifeMs = 2_000;
/** Longer than any database lookup. */
const turnLifeMs = 60_000;

/**
 * Stores values unless they have changed since they were read.
 *
 * KEYS[1]  the values
 * KEYS[2]  the turn, absent when nothing has changed for a while
 * ARGV[1]  the turn as it was before the values were read, '' for absent
 * ARGV[2]  the values, JSON
 * ARGV[3]  their life, milliseconds
 */
const putUnchanged = new RedisScript(`
if (redis.call('GET', KEYS[2]) or '') == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
`);

/**
 * A cache of TXT values for CAs, shared by all copies of the approval responder. The database is the source. Every
 * method rejects when Redis is unavailable.
 */
export class ChallengeValues {
  constructor(private readonly redis: RedisKeys) {}

  async get(place: ChallengePlace): Promise<Remembered> {
    const { values, turn } = this.#keys(place);
    const [text, turnNow] = await this.redis.client.mget(values, turn);
    const read = text === null || text === undefined ? undefined : valuesIn(text);
    return read === undefined ? { known: false, turn: turnNow ?? '' } : { known: true, values: read };
  }

  /** @param turn from the `get` before the values were read */
  async put(place: ChallengePlace, values: ValuesAt, turn: string): Promise<void> {
    const keys = this.#keys(place);
    const lifeMs = values === null || values.length === 0 ? nothingLifeMs : valuesLifeMs;
    await putUnchanged.run(
      this.redis.client,
      [keys.values, keys.turn],
      [turn, JSON.stringify(values), lifeMs],
    );
  }

  /**
   * Call after a change of values in the database is committed; the next lookup sees it. If it rejects, cached values
   * expire after at most 30 s.
   */
  async changed(places: readonly ChallengePlace[]): Promise<void> {
    const turnNow = randomUUID();
    await Promise.all(
      places.map(async (place) => {
        const { values, turn } = this.#keys(place);
        await this.redis.client.multi().set(turn, turnNow, 'PX', turnLifeMs).del(values).exec();
      }),
    );
  }

  /** The braces are Redis Cluster's hash tag: both keys are on one node. */
  #keys(place: ChallengePlace): { readonly values: string; readonly turn: string } {
    const key = `${this.redis.prefix}:challenges:{${place}}`;
    return { values: key, turn: `${key}:turn` };
  }
}

/** `undefined` for values of another version. */
function valuesIn(text: string): ValuesAt | undefined {
  try {
    const values: unknown = JSON.parse(text);
    if (values === null) return null;
    return Array.isArray(values) && values.every((each) => typeof each === 'string') ? values : undefined;
  } catch {
    return undefined;
  }
}
