import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { CaLimit } from '@certwright/core-schema';
import { Transactions, type Tx } from '@certwright/core-schema';
import {
  type Bucket,
  type BucketKind,
  longestWait,
  spentForS,
  spentToWait,
  stillSpent,
  type Wait,
} from './limit-arithmetic';

export type CaLimitKind = Exclude<BucketKind, 'shareOfNewOrders'>;

/** One token of one bucket. */
export interface CaLimitNeed {
  readonly kind: CaLimitKind;
  /** The registered domain, the name, the SHA-256 of the sorted names in hex; empty for the whole account. */
  readonly key: string;
  /** The current limit: an operator's change applies at once. */
  readonly limit: CaLimit;
}

export type CaLimitTaken =
  | { readonly taken: true }
  | {
      readonly taken: false;
      /** The bucket that stays empty longest. */
      readonly kind: CaLimitKind;
      readonly key: string;
      /** True: the rest is reserved for other accounts, which used less of it lately. */
      readonly keptForOthers: boolean;
      /** Time of the next useful attempt, by the database's clock. */
      readonly until: Date;
    };

interface Held {
  readonly buckets: readonly Bucket[];
  /** Seconds since 1970, by the database's clock. */
  readonly nowS: number;
}

type Place = Pick<Bucket, 'kind' | 'key' | 'limit'>;

/** The remainder of a CA's published limits, per account at the CA, by the database's clock. */
@Injectable()
export class CaLimitBuckets {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /**
   * Takes a token of every bucket, or of none. A bucket that is listed twice counts once.
   *
   * @param accountId our account that owns the order: `newOrders` are shared fairly
   * @param checked must have a token too, which is not taken
   * @param store what the tokens are for, in the transaction that takes them; null: there is nothing to take
   */
  async take(
    caAccountId: string,
    needs: readonly CaLimitNeed[],
    accountId: string,
    checked: readonly CaLimitNeed[] = [],
    store: (tx: Tx | null) => Promise<void> = async () => await Promise.resolve(),
  ): Promise<CaLimitTaken> {
    if (needs.length + checked.length === 0) {
      await store(null);
      return { taken: true };
    }
    try {
      return await this.transactions.run(async (tx) => {
        // First: it may wait for the lock of one issuance, and no other order is to wait for the buckets meanwhile.
        await store(tx);
        const { buckets, nowS } = await hold(tx, caAccountId, placesOf([...needs, ...checked], accountId));
        const wait = await waitOf(tx, buckets, accountId);
        if (wait !== null) throw new NotTaken(refusalOf(wait, nowS));
        const isTaken = ({ kind, key }: Bucket) =>
          !checked.some((place) => place.kind === kind && place.key === key);
        const taken = buckets.filter(isTaken).map((bucket) => ({ ...bucket, spent: bucket.spent + 1 }));
        await write(tx, caAccountId, taken, nowS);
        return { taken: true };
      });
    } catch (error) {
      if (error instanceof NotTaken) return error.refusal;
      throw error;
    }
  }

  /** Takes a token of every bucket, also of an empty one: the CA counts what is stored in the same transaction. */
  async spend(
    caAccountId: string,
    needs: readonly CaLimitNeed[],
    accountId: string,
    store: (tx: Tx) => Promise<void>,
  ): Promise<void> {
    await this.transactions.run(async (tx) => {
      await store(tx);
      if (needs.length > 0) await add(tx, caAccountId, placesOf(needs, accountId), 1);
    });
  }

  /** The CA was not called after all, or the expected cost did not occur. */
  async giveBack(caAccountId: string, needs: readonly CaLimitNeed[], accountId: string): Promise<void> {
    if (needs.length === 0) return;
    await this.transactions.run(async (tx) => await add(tx, caAccountId, placesOf(needs, accountId), -1));
  }

  /** The CA itself reported that the limit is reached: nothing is taken before the instant. Never shortens a wait. */
  async drain(caAccountId: string, need: CaLimitNeed, until: Date): Promise<void> {
    await this.transactions.run(async (tx) => {
      const { buckets, nowS } = await hold(tx, caAccountId, [need]);
      const minSpent = spentToWait(need.limit, until.getTime() / 1_000 - nowS);
      const drained = buckets.map((bucket) => ({ ...bucket, spent: Math.max(bucket.spent, minSpent) }));
      await write(tx, caAccountId, drained, nowS);
    });
  }

  /**
   * Deletes rows of buckets that are full. A day later, in case that a limit was lowered meanwhile; rows that are
   * locked at this moment are skipped.
   *
   * @returns how many
   */
  async forgetFull(): Promise<number> {
    const [, gone] = await this.database.query<[unknown, number]>(
      `DELETE FROM ca_limit_bucket WHERE (ca_account_id, kind, key) IN (
         SELECT ca_account_id, kind, key FROM ca_limit_bucket WHERE spent_until < now() - interval '1 day'
         LIMIT 10000 FOR UPDATE SKIP LOCKED)`,
    );
    return gone;
  }
}

type Refused = Extract<CaLimitTaken, { readonly taken: false }>;

/** Rolls back what was stored for the tokens. */
class NotTaken extends Error {
  constructor(readonly refusal: Refused) {
    super('a limit of a CA is reached');
  }
}

function refusalOf({ bucket: { kind, key }, seconds }: Wait, nowS: number): Refused {
  const until = afterS(nowS + seconds);
  return kind === 'shareOfNewOrders'
    ? { taken: false, kind: 'newOrders', key: '', keptForOthers: true, until }
    : { taken: false, kind, key, keptForOthers: false, until };
}

/** Each once, in the order in which every transaction locks them. */
function placesOf(needs: readonly CaLimitNeed[], accountId: string): readonly Place[] {
  const orders = needs.find(({ kind }) => kind === 'newOrders');
  const share: Place[] =
    orders === undefined ? [] : [{ kind: 'shareOfNewOrders', key: accountId, limit: orders.limit }];
  const places = new Map([...needs, ...share].map((place) => [`${place.kind} ${place.key}`, place]));
  return [...places].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, place]) => place);
}

/** Locks the buckets, including new ones, and refills them up to now. */
async function hold(tx: Tx, caAccountId: string, places: readonly Place[]): Promise<Held> {
  const rows = await tx.query<{ kind: BucketKind; key: string; spent: number; at: number; now: number }[]>(
    `INSERT INTO ca_limit_bucket AS bucket (ca_account_id, kind, key, spent, at, spent_until)
     SELECT $1, kind, key, 0, clock_timestamp(), clock_timestamp()
     FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS place (kind, key, turn) ORDER BY turn
     ON CONFLICT (ca_account_id, kind, key) DO UPDATE SET spent = bucket.spent
     RETURNING kind, key, spent, extract(epoch FROM at)::float8 AS at,
       extract(epoch FROM clock_timestamp())::float8 AS now`,
    [caAccountId, places.map(({ kind }) => kind), places.map(({ key }) => key)],
  );
  const nowS = Math.max(...rows.map(({ now }) => now));
  const buckets = places.map(({ kind, key, limit }) => {
    const row = rows.find((one) => one.kind === kind && one.key === key);
    if (row === undefined) throw new Error(`the bucket ${kind} ${key} was not locked`);
    return { kind, key, limit, spent: stillSpent(kind, limit, row.spent, nowS - row.at) };
  });
  return { buckets, nowS };
}

async function add(tx: Tx, caAccountId: string, places: readonly Place[], tokens: 1 | -1): Promise<void> {
  const { buckets, nowS } = await hold(tx, caAccountId, places);
  const changed = buckets.map((bucket) => ({ ...bucket, spent: Math.max(0, bucket.spent + tokens) }));
  await write(tx, caAccountId, changed, nowS);
}

async function write(tx: Tx, caAccountId: string, buckets: readonly Bucket[], nowS: number): Promise<void> {
  await tx.query(
    `UPDATE ca_limit_bucket AS bucket
     SET spent = held.spent, at = to_timestamp($5), spent_until = to_timestamp($5 + held.for_s)
     FROM unnest($2::text[], $3::text[], $4::float8[], $6::float8[]) AS held (kind, key, spent, for_s)
     WHERE bucket.ca_account_id = $1 AND bucket.kind = held.kind AND bucket.key = held.key`,
    [
      caAccountId,
      buckets.map(({ kind }) => kind),
      buckets.map(({ key }) => key),
      buckets.map(({ spent }) => spent),
      nowS,
      buckets.map(spentForS),
    ],
  );
}

/** The only account of a deployment may use a limit up. */
async function waitOf(tx: Tx, buckets: readonly Bucket[], accountId: string): Promise<Wait | null> {
  const wait = longestWait(buckets);
  if (wait?.bucket.kind !== 'shareOfNewOrders' || (await hasOthers(tx, accountId))) return wait;
  return longestWait(buckets.filter(({ kind }) => kind !== 'shareOfNewOrders'));
}

async function hasOthers(tx: Tx, accountId: string): Promise<boolean> {
  const [{ others }] = await tx.query<[{ others: boolean }]>(
    `SELECT EXISTS (SELECT 1 FROM account WHERE id <> $1 AND disabled_at IS NULL) AS others`,
    [accountId],
  );
  return others;
}

/** Rounded up: a retry one millisecond early would fail. */
const afterS = (seconds: number): Date => new Date(Math.ceil(seconds * 1_000));
