import { setImmediate as otherRequests } from 'node:timers/promises';
import {
  issuanceBodies,
  type IssuanceBody,
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
import { issuanceJson, needsCertificate, needsIssuer } from './issuance-json';

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

/** Max characters of a page that are in one string. */
const textAtOnce = 16 * 1024;

export interface PresentedPage {
  /** A JSON array; a long one in UTF-8. */
  readonly json: string | Buffer;
  /** Number of its elements. */
  readonly count: number;
}

/** Issuances in the format of the API, with related data. */
export class PresentIssuances {
  constructor(
    private readonly issuers: KnownIssuers,
    private readonly coverage: KnownCoverage,
  ) {}

  /** @throws what the reader throws */
  async page(
    reader: Reader,
    issuances: readonly StoredIssuance[],
    expansion: IssuanceExpansion,
  ): Promise<PresentedPage> {
    if (issuances.length === 0) return { json: '[]', count: 0 };
    const [revocations, issuers, bodies] = await Promise.all([
      revocationFacts(issuances, async (lists) => await this.coverage.of(reader, lists)),
      this.issuersOf(reader, issuances, expansion),
      bodiesOf(reader, issuances, expansion),
    ]);
    const json = new PageText();
    let count = 0;
    const work = new PageWork();
    for (const [nth, issuance] of issuances.entries()) {
      const body = bodies?.get(issuance.position);
      const revocation = revocations[nth];
      if (revocation === undefined || (bodies !== null && body === undefined) || work.isEnough) break;
      if (work.mustGiveWay) await work.giveWay();
      const certificate = body === undefined ? null : certificateOf(body);
      const issuer = issuers?.get(issuance.issuer) ?? null;
      const member = issuanceJson({ issuance, revocation, issuer, certificate }, expansion);
      json.add(`${nth === 0 ? '[' : ','}${member}`);
      work.add(member.length + (certificate?.der.length ?? 0));
      count += 1;
    }
    json.add(count === 0 ? '[]' : ']');
    return { json: json.all(), count };
  }

  /** A single one, a JSON object. @throws Problem `not_found` once it is deleted; what the reader throws */
  async one(reader: Reader, issuance: StoredIssuance, expansion: IssuanceExpansion): Promise<string> {
    const { json, count } = await this.page(reader, [issuance], expansion);
    if (count === 0) throw new Problem('not_found', 'This issuance is no longer stored.');
    return json.toString().slice(1, -1);
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

/** A text of unknown length. A long string would be copied several times until it is sent, and its parts kept until then. */
class PageText {
  private readonly bytes: Buffer[] = [];
  private text = '';

  add(text: string): void {
    this.text += text;
    if (this.text.length < textAtOnce) return;
    this.bytes.push(Buffer.from(this.text));
    this.text = '';
  }

  all(): string | Buffer {
    return this.bytes.length === 0 ? this.text : Buffer.concat([...this.bytes, Buffer.from(this.text)]);
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
