import { ListTurns } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { type HttpResponse, jsonResponse } from '../wire/response';
import {
  ExpandArgument,
  fieldsIn,
  readArguments,
  type Reading,
  type Sent,
  unreadable,
} from '../wire/arguments';
import { Expansion } from '../wire/expansion';
import { LimitArgument, nextPageLink, QueryArgument } from '../wire/page';
import { isInstanceId, noSuchCert } from '../instances/instance-reference';
import { InstanceViews, needsOf } from '../instances/instance-views';
import { InstancesRepository } from '../instances/instances.repository';

/** Instances on one page. */
const maxPage = 100;

export class InstancesQuery {
  @LimitArgument(maxPage) limit?: number;
  @QueryArgument('Id of the last instance of the page before.', readAfter) after?: string;
  @ExpandArgument() expand?: Expansion;
}

function readAfter(id: string): Reading<string> {
  if (isInstanceId(id)) return id;
  return unreadable('bad_param', 'after must be the value in the Link header of the page before.');
}

@Injectable()
export class ListInstances {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly instances: InstancesRepository,
    private readonly views: InstanceViews,
    private readonly turns: ListTurns,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL'>,
  ) {}

  /** Newest first; `Link` leads to the next page. @throws Refusal `no_such_cert`, `bad_param` */
  async run(accountId: string, cn: string, query: Sent): Promise<HttpResponse> {
    const parameters = readArguments(InstancesQuery, fieldsIn(query));
    const { limit = maxPage, after = null, expand: expansion = Expansion.none } = parameters;
    const object = await this.objects.find(accountId, cn);
    if (object === null) throw noSuchCert();
    return await this.turns.run(accountId, async () => {
      const found = await this.instances.page(object.planId, after, limit + 1, needsOf([expansion]));
      const page = found.slice(0, limit);
      const data = await this.views.of(page, expansion);
      const last = page.at(-1);
      if (found.length <= limit || last === undefined) return jsonResponse({ data });
      const address = `${this.config.PUBLIC_URL}/api/v2/certs/${encodeURIComponent(cn)}/instances`;
      const next = { after: last.id, limit: query['limit'], expand: query['expand'] };
      return jsonResponse({ data }, { link: nextPageLink(address, next) });
    });
  }
}
