import { setImmediate as otherRequests } from 'node:timers/promises';
import {
  addRevocations,
  issuanceBodies,
  type IssuanceBody,
  type RevocationFacts,
  revocationFacts,
  type StoredIssuance,
} from '@certwright/ct-index';
import { Problem } from '@certwright/errors';
import { certificateOf } from './certificate';
import type { EntityManager } from 'typeorm';
import type { KnownIssuers } from './known-issuers';
import type { Issuer } from './issuer';
import type { KnownCoverage } from './known-coverage';
import type { IssuanceExpansion } from './expansion';
import { needsCertificate, needsIssuer, usualBytes, writeIssuance } from './issuance-json';
import { JsonBytes } from './json-bytes';

type Reader = Pick<EntityManager, 'query'>;

/**
 * Approximate characters and bytes that are processed for one page. A hundred certificates have half a megabyte; log entries
 * may be thirty times longer than any real one. The page then ends early, after its first issuance at the earliest.
 */
const maxWork = 16 * 1024 * 1024;

/** Stored bytes of certificates that are read at once. */
const maxBodyBytes = 16 * 1024 * 1024;

/** The same, processed before yielding to other requests: some milliseconds. */
const workAtOnce = 256 * 1024;

export interface PresentedPage {
  /** A JSON array. */
  readonly json: Buffer;
  /** Number of its elements. */
  readonly count: number;
}

/** Issuances in the format of the API, with related data. */
export class PresentIssuances {
  constructor(
    private readonly issuers: KnownIssuers,
    private readonly coverage: KnownCoverage,
  ) {}

  /** @param sinceMs when their reading began, in `performance.now()` @throws what the reader throws */
  async page(
    reader: Reader,
    issuances: readonly StoredIssuance[],
    expansion: IssuanceExpansion,
    sinceMs: number,
  ): Promise<PresentedPage> {
    if (issuances.length === 0) return { json: Buffer.from('[]'), count: 0 };
    const [revocations, issuers, bodies] = await Promise.all([
      this.revocationsOf(reader, issuances, sinceMs),
      this.issuersOf(reader, issuances, expansion),
      bodiesOf(reader, issuances, expansion),
    ]);
    const json = new JsonBytes(usualBytes * issuances.length);
    let count = 0;
    const work = new PageWork();
    for (const issuance of issuances) {
      const body = bodies?.get(issuance.position);
      const revocation = revocations[count];
      if (revocation === undefined || (bodies !== null && body === undefined) || work.isEnough) break;
      if (work.mustGiveWay) await work.giveWay();
      const certificate = body === undefined ? null : certificateOf(body);
      const issuer = issuers?.get(issuance.issuer) ?? null;
      const begin = json.length;
      json.ascii(count === 0 ? '[' : ',');
      writeIssuance(json, { issuance, revocation, issuer, certificate }, expansion);
      work.add(json.length - begin + (certificate?.der.length ?? 0));
      count += 1;
    }
    json.ascii(count === 0 ? '[]' : ']');
    return { json: json.written(), count };
  }

  /** A single one, a JSON object. @throws Problem `not_found` once it is deleted; what the reader throws */
  async one(
    reader: Reader,
    issuance: StoredIssuance,
    expansion: IssuanceExpansion,
    sinceMs: number,
  ): Promise<string> {
    const { json, count } = await this.page(reader, [issuance], expansion, sinceMs);
    if (count === 0) throw new Problem('not_found', 'This issuance is no longer stored.');
    return json.toString().slice(1, -1);
  }

  private async revocationsOf(
    reader: Reader,
    issuances: readonly StoredIssuance[],
    sinceMs: number,
  ): Promise<readonly RevocationFacts[]> {
    return await revocationFacts(issuances, async (lists) => {
      const { checkedAt, isNewer } = await this.coverage.of(reader, lists, sinceMs);
      // A list that was stored meanwhile may revoke what was read as not revoked.
      if (isNewer) await addRevocations(reader, issuances);
      return checkedAt;
    });
  }

  private async issuersOf(
    reader: Reader,
    issuances: readonly StoredIssuance[],
    expansion: IssuanceExpansion,
  ): Promise<ReadonlyMap<number, Issuer> | null> {
    if (!needsIssuer(expansion)) return null;
    return await this.issuers.of(reader, new Set(issuances.map(({ issuer }) => issuer)));
  }
}

/** Work done for a page so far. */
class PageWork {
  private done = 0;
  private atOnce = 0;

  get isEnough(): boolean {
    return this.done > maxWork;
  }

  add(bytes: number): void {
    this.done += bytes;
    this.atOnce += bytes;
  }

  get mustGiveWay(): boolean {
    return this.atOnce >= workAtOnce;
  }

  async giveWay(): Promise<void> {
    this.atOnce = 0;
    await otherRequests();
  }
}

async function bodiesOf(
  reader: Reader,
  issuances: readonly StoredIssuance[],
  expansion: IssuanceExpansion,
): Promise<ReadonlyMap<string, IssuanceBody> | null> {
  if (!needsCertificate(expansion)) return null;
  const positions = issuances.map(({ position }) => position);
  const bodies = await issuanceBodies(reader, positions, maxBodyBytes);
  return new Map(bodies.map((body) => [body.position, body]));
}
