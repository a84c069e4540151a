import type { Challenges } from '@certwright/approvals';
import type { ChallengePlace, ChallengeValues, Remembered, ValuesAt } from '@certwright/redis';
import { annotateSpan, inSpan } from '@certwright/tracing';
import type { LookUpLimit } from './look-up-limit';

export type LookUpSource = 'redis' | 'database';

export interface KnownValuesOptions {
  readonly remembered: Pick<ChallengeValues, 'get' | 'put'>;
  readonly stored: Pick<Challenges, 'atTarget' | 'ofName'>;
  readonly limit: LookUpLimit;
  /** Timeout of the database, ms; a statement on a dead connection would wait for the TCP timeout. */
  readonly databaseTimeoutMs: number;
  /** Called for each look-up that returned a result. */
  readonly onFound?: (source: LookUpSource, seconds: number) => void;
  /** Monotonic, ms. */
  readonly nowMs?: () => number;
}

/** After a slow failure, Redis is not used for a second: its timeout is paid once, not per query. */
const rest = { afterMs: 50, forMs: 1_000 } as const;

interface UnderWay {
  readonly values: Promise<ValuesAt>;
  /** Begins when `values` has ended, and serves all queries that arrived meanwhile. */
  next?: Promise<ValuesAt>;
}

/** Values at a place: from Redis, which all copies share, else from the database. */
export class KnownValues {
  /** At most one look-up of a place at a time. */
  readonly #underWay = new Map<ChallengePlace, UnderWay>();
  #restingUntilMs = -Infinity;

  constructor(private readonly options: KnownValuesOptions) {}

  /** @throws when neither responds: the state of the place is then unknown, and NXDOMAIN would be wrong */
  at(place: ChallengePlace): Promise<ValuesAt> {
    const underWay = this.#underWay.get(place);
    if (underWay !== undefined) {
      // It may have read before a change that was published before this query.
      const again = () => this.at(place);
      return (underWay.next ??= underWay.values.then(again, again));
    }
    // The place is not an attribute: a label below the approval zone is a secret of its account.
    const values = inSpan('approval value', {}, async () => await this.#lookUp(place)).finally(() =>
      this.#underWay.delete(place),
    );
    this.#underWay.set(place, { values });
    return values;
  }

  async #lookUp(place: ChallengePlace): Promise<ValuesAt> {
    const begunMs = this.#nowMs();
    const found = (source: LookUpSource) => {
      annotateSpan({ 'certwright.source': source });
      this.options.onFound?.(source, (this.#nowMs() - begunMs) / 1_000);
    };
    const remembered = await this.#remembered(place);
    if (remembered?.known === true) {
      found('redis');
      return remembered.values;
    }
    const values = await this.options.limit.run(() => this.#stored(place));
    found('database');
    if (remembered !== null) void this.#remember(place, values, remembered.turn);
    return values;
  }

  /** null while Redis is unavailable. */
  async #remembered(place: ChallengePlace): Promise<Remembered | null> {
    const begunMs = this.#nowMs();
    if (begunMs < this.#restingUntilMs) return null;
    try {
      return await this.options.remembered.get(place);
    } catch {
      // The connection has logged it. While it is down, calls fail at once, and the next one tries again.
      if (this.#nowMs() - begunMs >= rest.afterMs) this.#restingUntilMs = this.#nowMs() + rest.forMs;
      return null;
    }
  }

  async #remember(place: ChallengePlace, values: ValuesAt, turn: string): Promise<void> {
    // A value that is not cached is looked up again.
    await this.options.remembered.put(place, values, turn).catch(() => undefined);
  }

  async #stored(place: ChallengePlace): Promise<ValuesAt> {
    const key = place.slice(place.indexOf(':') + 1);
    const { stored, databaseTimeoutMs } = this.options;
    const values = place.startsWith('target:') ? stored.atTarget(key) : stored.ofName(key);
    return await within(databaseTimeoutMs, values);
  }

  #nowMs(): number {
    return this.options.nowMs?.() ?? performance.now();
  }
}

async function within<T>(ms: number, pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The database did not respond within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}
