import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { type Answer, jsonAnswer } from '../wire/answer';
import { Expansion } from '../wire/expansion';
import { nextPageLink, readLimit, readOnce } from '../wire/page';
import type { StreamedList } from '../wire/stream';
import { type CertObject, dnsNamesOf } from './cert-object';
import { CertObjectViews } from './cert-object-views';
import { CertObjectsRepository } from './cert-objects.repository';

/** Objects on one page, for callers that ask for pages. */
export const largestPage = 1_000;

/** Objects that are read at once where all are returned: one part is built while others wait for the process. */
const objectsOfPart = 250;

/** A page ends before the object whose names would be one more, so that no account's list is too large to be made: 4 MB. */
export const mostNamesOnPage = 10_000;

export interface ListQuery {
  readonly after?: unknown;
  readonly limit?: unknown;
  readonly tag?: unknown;
  readonly expand?: unknown;
}

/** As it was read. */
interface Listing {
  readonly accountId: string;
  readonly tag: string | null;
  readonly expansion: Expansion;
}

interface Part {
  readonly shown: readonly object[];
  /** Common name after which the next part begins; null: this is the last one. */
  readonly next: string | null;
}

@Injectable()
export class RetrieveCertObjects {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly views: CertObjectViews,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL'>,
  ) {}

  /** A common name that the account has no object of is shown as one that does not exist. */
  async one(accountId: string, cn: string, expansion: Expansion): Promise<Answer> {
    const object = await this.objects.find(accountId, cn);
    if (object === null) return jsonAnswer(await this.views.showMissing(accountId, cn, expansion));
    const [shown] = await this.views.show([object], expansion);
    return jsonAnswer(shown);
  }

  /**
   * By common name: a page where the caller sent a `limit`, else everything that the account has. Existing clients send
   * none and follow no `Link`.
   *
   * @throws Refusal `bad_param`
   */
  async list(accountId: string, query: ListQuery): Promise<Answer | StreamedList> {
    const isPaged = query.limit !== undefined && query.limit !== '';
    const limit = isPaged ? readLimit(query.limit, largestPage) : objectsOfPart;
    const after = readOnce(query.after, 'after');
    const listing = {
      accountId,
      tag: readOnce(query.tag, 'tag'),
      expansion: Expansion.of(query.expand),
    };
    // Before the answer begins: what fails here is still answered with an error.
    const first = await this.part(listing, after, limit);
    if (first.next === null) return jsonAnswer({ data: first.shown });
    return isPaged ? this.page(first.shown, first.next, query) : { parts: this.parts(listing, first) };
  }

  private page(data: readonly object[], after: string, { limit, tag, expand }: ListQuery): Answer {
    const address = `${this.config.PUBLIC_URL}/api/v2/certs`;
    return jsonAnswer({ data }, { link: nextPageLink(address, { after, limit, tag, expand }) });
  }

  private async *parts(listing: Listing, first: Part): AsyncGenerator<readonly object[]> {
    let part = first;
    yield part.shown;
    while (part.next !== null) {
      part = await this.part(listing, part.next, objectsOfPart);
      if (part.shown.length > 0) yield part.shown;
    }
  }

  private async part(
    { accountId, tag, expansion }: Listing,
    after: string | null,
    limit: number,
  ): Promise<Part> {
    // One more than is shown tells whether there is a next part.
    const found = await this.objects.page(accountId, { after, tag, limit: limit + 1 });
    const objects = found.slice(0, Math.min(limit, fitting(found)));
    const shown = await this.views.show(objects, expansion);
    return { shown, next: found.length === objects.length ? null : (objects.at(-1)?.cn ?? null) };
  }
}

/** How many of them have no more names together than a page takes; one at least, or nobody would get past it. */
function fitting(objects: readonly CertObject[]): number {
  let names = 0;
  const tooMany = objects.findIndex((object) => (names += dnsNamesOf(object).length) > mostNamesOnPage);
  return tooMany === -1 ? objects.length : Math.max(1, tooMany);
}
