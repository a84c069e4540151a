import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { type Answer, jsonAnswer } from '../wire/answer';
import { Expansion } from '../wire/expansion';
import { nextPageLink, readLimit, readOnce } from '../wire/page';
import { type CertObject, dnsNamesOf } from './cert-object';
import { CertObjectViews } from './cert-object-views';
import { CertObjectsRepository } from './cert-objects.repository';

/** The existing command-line client asks once and knows no pages, so a page holds what an account may well have. */
export const largestPage = 1_000;

/** A page ends before the object whose names would be one more, so that no account's list is too large to be made: 4 MB. */
export const mostNamesOnPage = 10_000;

export interface ListQuery {
  readonly after?: unknown;
  readonly limit?: unknown;
  readonly tag?: unknown;
  readonly expand?: unknown;
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

  /** By common name. @throws Refusal `bad_param` */
  async page(accountId: string, query: ListQuery): Promise<Answer> {
    const limit = readLimit(query.limit, largestPage);
    const after = readOnce(query.after, 'after');
    const tag = readOnce(query.tag, 'tag');
    // One more than is shown tells whether there is a next page.
    const found = await this.objects.page(accountId, { after, tag, limit: limit + 1 });
    const objects = found.slice(0, Math.min(limit, fitting(found)));
    const data = await this.views.show(objects, Expansion.of(query.expand));
    const last = objects.at(-1);
    if (found.length === objects.length || last === undefined) return jsonAnswer({ data });
    const { limit: given, expand } = query;
    const link = nextPageLink(`${this.config.PUBLIC_URL}/api/v2/certs`, {
      after: last.cn,
      limit: given,
      tag,
      expand,
    });
    return jsonAnswer({ data }, { link });
  }
}

/** How many of them have no more names together than a page takes; one at least, or nobody would get past it. */
function fitting(objects: readonly CertObject[]): number {
  let names = 0;
  const tooMany = objects.findIndex((object) => (names += dnsNamesOf(object).length) > mostNamesOnPage);
  return tooMany === -1 ? objects.length : Math.max(1, tooMany);
}
