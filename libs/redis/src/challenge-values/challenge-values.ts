import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/**
 * Where CAs look for TXT values: at the target of a standing record, by its label below the approval zone, or at
 * `_acme-challenge.<name>` itself where that is delegated.
 */
export type ChallengePlace = `target:${string}` | `name:${string}`;

/** The TXT values at a place, perhaps none; null: the place does not exist. */
export type ValuesAt = readonly string[] | null;

export type Remembered =
  | { readonly known: true; readonly values: ValuesAt }
  /** `turn` goes back with `put`: values read before a change are not remembered after it. */
  | { readonly known: false; readonly turn: string };

/** Milliseconds. The bound on how long a value is answered on when `changed` did not reach Redis. */
const valuesLifeMs = 30_000;
/** Of "nothing there", which the next order changes. */
const nothingLifeMs = 2_000;
/** Longer than any look into the database takes. */
const turnLifeMs = 60_000;

/**
 * Remembers values unless they have changed since they were read.
 *
 * KEYS[1]  the values
 * KEYS[2]  the turn, absent when nothing has changed for a while
 * ARGV[1]  the turn as it was before the values were read, '' for absent
 * ARGV[2]  the values, JSON
 * ARGV[3]  their life, milliseconds
 */
const putSource = `
if (redis.call('GET', KEYS[2]) or '') == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
`;
const putSha1 = createHash('sha1').update(putSource).digest('hex');

/**
 * TXT values for CAs, remembered for all copies of the approval responder. The database has them; whatever is not
 * here is read there. Every method rejects when Redis is away.
 */
export class ChallengeValues {
  /** @param prefix keeps the values of one deployment apart from whatever else lives in the same Redis */
  constructor(
    private readonly redis: Redis,
    private readonly prefix = 'challenges',
  ) {}

  async get(place: ChallengePlace): Promise<Remembered> {
    const { values, turn } = this.#keys(place);
    const [text, turnNow] = await this.redis.mget(values, turn);
    const read = text === null || text === undefined ? undefined : valuesIn(text);
    return read === undefined ? { known: false, turn: turnNow ?? '' } : { known: true, values: read };
  }

  /** @param turn from the `get` before the values were read */
  async put(place: ChallengePlace, values: ValuesAt, turn: string): Promise<void> {
    const keys = this.#keys(place);
    const lifeMs = values === null || values.length === 0 ? nothingLifeMs : valuesLifeMs;
    const args = [keys.values, keys.turn, turn, JSON.stringify(values), lifeMs] as const;
    try {
      await this.redis.evalsha(putSha1, 2, ...args);
    } catch (error) {
      // Redis forgets scripts when it restarts, and a new node of a cluster has never heard of them.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      await this.redis.eval(putSource, 2, ...args);
    }
  }

  /**
   * Whoever changes values in the database says so here, once it is committed: the next question sees them. Where this
   * rejects they are seen when what is remembered ends, after 30 s at the latest.
   */
  async changed(places: readonly ChallengePlace[]): Promise<void> {
    const turnNow = randomUUID();
    await Promise.all(
      places.map(async (place) => {
        const { values, turn } = this.#keys(place);
        await this.redis.multi().set(turn, turnNow, 'PX', turnLifeMs).del(values).exec();
      }),
    );
  }

  /** The braces are Redis Cluster's hash tag: both lie on one node. */
  #keys(place: ChallengePlace): { readonly values: string; readonly turn: string } {
    const key = `${this.prefix}:{${place}}`;
    return { values: key, turn: `${key}:turn` };
  }
}

/** `undefined` for what another version may have written. */
function valuesIn(text: string): ValuesAt | undefined {
  try {
    const values: unknown = JSON.parse(text);
    if (values === null) return null;
    return Array.isArray(values) && values.every((each) => typeof each === 'string') ? values : undefined;
  } catch {
    return undefined;
  }
}
