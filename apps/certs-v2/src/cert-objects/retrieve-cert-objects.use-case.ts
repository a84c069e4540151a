import { withinDatabaseTime } from '@certwright/core-schema';
import { InProgress, ListTurns } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { type HttpResponse, jsonResponse, type StreamedList } from '../wire/response';
import { ExpandArgument, fieldsIn, readArguments, type Sent } from '../wire/arguments';
import { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import { LimitArgument, nextPageLink, QueryArgument } from '../wire/page';
import { type CertObject, dnsNamesOf, type StoredCertObject } from './cert-object';
import { type CertObjectJson, missingCertObjectJson } from './cert-object-json';
import { CertObjectViews } from './cert-object-views';
import { CertObjectsRepository } from './cert-objects.repository';

/** Objects on one page, for callers that request pages. */
const maxPage = 1_000;

/** Objects that are read at once: one part is built while others wait for the process. */
const objectsOfPart = 250;

/** The same with CSRs or instances, each of which can have tens of kilobytes. A page ends there, too. */
const objectsOfPartWithPem = 100;

/** A page ends before the object with which it would have more names, so that no account's list is too large: 4 MB. */
const maxNamesOnPage = 10_000;

/** Lists in parts of one account at the same time, in this process: each keeps it busy, or keeps a part for a slow client. */
export const maxListsOfAccount = 4;

/** Seconds before another one. */
const busyRetryAfterS = 5;

export class CertObjectsQuery {
  @LimitArgument(maxPage, 'Maximum number of objects, 1 to 1,000.') limit?: number;
  @QueryArgument('Common name after which the list begins.') after?: string;
  @QueryArgument('Only objects with this tag.') tag?: string;
  @ExpandArgument() expand?: Expansion;
}

/** As it was read. */
interface Listing {
  readonly accountId: string;
  readonly tag: string | null;
  readonly expansion: Expansion;
}

interface Part {
  readonly shown: readonly CertObjectJson[];
  /** Common name after which the next part begins; null: this is the last one. */
  readonly next: string | null;
}

@Injectable()
export class RetrieveCertObjects {
  readonly #lists = new InProgress(maxListsOfAccount);

  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly views: CertObjectViews,
    private readonly turns: ListTurns,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL' | 'DATABASE_TIME'>,
  ) {}

  /** A common name that the account has no object of is shown as one that does not exist. */
  async one(accountId: string, cn: string, expansion: Expansion): Promise<HttpResponse> {
    const { object, ...known } = await this.objects.findShown(accountId, cn);
    if (object === null) return jsonResponse(missingCertObjectJson(cn, known.subject, expansion));
    const [shown] = await this.views.show([object], expansion, undefined, known);
    return jsonResponse(shown);
  }

  /**
   * By common name: a page where the caller sent a `limit`, else everything that the account has. Existing clients send
   * none and follow no `Link`.
   *
   * @throws Refusal `bad_param`, `rate_limited`
   */
  async list(accountId: string, query: Sent): Promise<HttpResponse | StreamedList> {
    const parameters = readArguments(CertObjectsQuery, fieldsIn(query));
    const { limit, after = null, tag = null, expand: expansion = Expansion.none } = parameters;
    const listing = { accountId, tag, expansion };
    // Before the response begins: a failure here is still reported as an error.
    const first = await this.turns.run(accountId, async () =>
      this.part(listing, after, limit ?? objectsOfPart),
    );
    if (first.next === null) return jsonResponse({ data: first.shown });
    if (limit === undefined) return { end: this.beginList(accountId), parts: this.parts(listing, first) };
    const address = `${this.config.PUBLIC_URL}/api/v2/certs`;
    const next = { after: first.next, limit: query['limit'], tag: query['tag'], expand: query['expand'] };
    return jsonResponse({ data: first.shown }, { link: nextPageLink(address, next) });
  }

  /** @returns ends it */
  private beginList(accountId: string): () => void {
    const end = this.#lists.begin(accountId);
    if (end !== null) return end;
    const message = `${maxListsOfAccount} lists of this account are being sent; request pages with limit, or wait for one of them.`;
    throw new Refusal('rate_limited', message, { retryAfterS: busyRetryAfterS });
  }

  private async *parts(listing: Listing, first: Part): AsyncGenerator<readonly CertObjectJson[]> {
    let part = first;
    yield part.shown;
    while (part.next !== null) {
      const { next } = part;
      // A long list needs more time in total than a request may wait for the database.
      part = await withinDatabaseTime(this.config.DATABASE_TIME, async () =>
        this.part(listing, next, objectsOfPart),
      );
      if (part.shown.length > 0) yield part.shown;
    }
  }

  private async part(listing: Listing, after: string | null, limit: number): Promise<Part> {
    const hasPem = ['csr', 'current', 'pending'].some((member) => listing.expansion.has(member));
    const most = hasPem ? Math.min(limit, objectsOfPartWithPem) : limit;
    const found = await this.read(listing, after, most);
    const objects = found.slice(0, Math.min(most, fitting(found)));
    const shown = await this.views.show(objects, listing.expansion);
    return { shown, next: found.length === objects.length ? null : (objects.at(-1)?.cn ?? null) };
  }

  /** One more than the limit shows whether there is a next part. Ends with the read that has more than fits. */
  private async read(
    { accountId, tag, expansion }: Listing,
    after: string | null,
    limit: number,
  ): Promise<readonly StoredCertObject[]> {
    const found: StoredCertObject[] = [];
    let isEnd = false;
    while (!isEnd && found.length <= limit && fitting(found) === found.length) {
      const atOnce = Math.min(limit + 1 - found.length, objectsOfPart + 1);
      const page = { after: found.at(-1)?.cn ?? after, tag, limit: atOnce, withCsr: expansion.has('csr') };
      const read = await this.objects.page(accountId, page);
      found.push(...read);
      isEnd = read.length < atOnce;
    }
    return found;
  }
}

/** Number of objects whose names together fit on a page; at least one, so that paging always advances. */
function fitting(objects: readonly CertObject[]): number {
  let names = 0;
  const tooMany = objects.findIndex((object) => (names += dnsNamesOf(object).length) > maxNamesOnPage);
  return tooMany === -1 ? objects.length : Math.max(1, tooMany);
}
