import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { type Answer, jsonAnswer } from '../wire/answer';
import { badParam } from '../wire/arguments';
import { Expansion } from '../wire/expansion';
import { nextPageLink, readLimit, readOnce } from '../wire/page';
import { isInstanceId, noSuchCert } from '../instances/instance-reference';
import { InstanceViews, needsOf } from '../instances/instance-views';
import { InstancesRepository } from '../instances/instances.repository';

/** As it stands in the URL. */
export interface InstancesQuery {
  readonly expand?: unknown;
  readonly limit?: unknown;
  readonly after?: unknown;
}

/** Instances on one page, and the most that a caller may ask for. */
const largestPage = 100;

@Injectable()
export class ListInstances {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly instances: InstancesRepository,
    private readonly views: InstanceViews,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL'>,
  ) {}

  /** Newest first; `Link` leads to the next page. @throws Refusal `no_such_cert`, `bad_param` */
  async run(accountId: string, cn: string, query: InstancesQuery): Promise<Answer> {
    const [limit, after] = [readLimit(query.limit, largestPage), readAfter(query.after)];
    const expansion = Expansion.of(query.expand);
    const object = await this.objects.find(accountId, cn);
    if (object === null) throw noSuchCert();
    const found = await this.instances.page(object.planId, after, limit + 1, needsOf([expansion]));
    const page = found.slice(0, limit);
    const data = await this.views.of(page, expansion);
    const last = page.at(-1);
    if (found.length <= limit || last === undefined) return jsonAnswer({ data });
    const address = `${this.config.PUBLIC_URL}/api/v2/certs/${encodeURIComponent(cn)}/instances`;
    const { limit: given, expand } = query;
    const link = nextPageLink(address, { after: last.id, limit: given, expand });
    return jsonAnswer({ data }, { link });
  }
}

function readAfter(after: unknown): string | null {
  const id = readOnce(after, 'after');
  if (id === null || isInstanceId(id)) return id;
  throw badParam('after', 'bad_param', 'must be what the Link header of the page before says.');
}
