import { ClusterEnrolments, Clusters } from '@certwright/accounts';
import type { Tx } from '@certwright/core-schema';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import {
  After,
  emptyResponse,
  type HttpResponse,
  isObjectId,
  jsonResponse,
  Limit,
  maxPageSize,
  pageOf,
  type ReadMembers,
  validMembers,
} from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { Addresses } from '../wire/addresses';
import { noSuchCluster, noSuchEnrolment, tooManyEnrolments } from '../wire/problems';
import { sealedKeeping } from '../wire/sealed-records';
import { enrolmentJson } from './cluster-json';
import type { EnrolmentRequest } from './cluster-request';

export class EnrolmentsQuery {
  @After(isObjectId, 'Id of the last token of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

@Injectable()
export class ManageEnrolments {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly clusters: Clusters,
    private readonly enrolments: ClusterEnrolments,
    private readonly addresses: Addresses,
    @Inject(OrdersConfig) private readonly config: Pick<OrdersConfig, 'SEALING_KEYS'>,
  ) {}

  /** The token is only part of this response. @throws Problem `not_found`, `bad_request`, `conflict` */
  async create(
    write: WriteRequest,
    name: string,
    read: ReadMembers<EnrolmentRequest>,
  ): Promise<HttpResponse> {
    const work = async (tx: Tx) => {
      const cluster = await this.clusters.lock(tx, write.accountId, name);
      if (cluster === null) throw noSuchCluster();
      const { uses, expires_in: expiresInS } = validMembers(read);
      const created = await this.enrolments.create(tx, cluster, { uses, expiresInS });
      if (created === null) throw tooManyEnrolments();
      const shown = { ...enrolmentJson(created.enrolment), token: created.token };
      return jsonResponse(201, shown);
    };
    return await this.requests.run(write, work, sealedKeeping(this.config.SEALING_KEYS, write));
  }

  /** Newest first. @throws Problem `not_found` */
  async page(accountId: string, name: string, query: EnrolmentsQuery): Promise<HttpResponse> {
    const { after, limit } = query;
    if (!(await this.clusters.exists(accountId, name))) throw noSuchCluster();
    const found = await this.enrolments.page({ accountId, name }, after, limit + 1);
    const { rows, headers } = pageOf(found, query, this.addresses.enrolments(name), ({ id }) => id);
    return jsonResponse(200, rows.map(enrolmentJson), headers);
  }

  /** No host can enrol with the token any more; those that have stay. @throws Problem `not_found` */
  async revoke(accountId: string, name: string, id: string): Promise<HttpResponse> {
    if (!(await this.clusters.exists(accountId, name))) throw noSuchCluster();
    if (!isObjectId(id) || !(await this.enrolments.revoke({ accountId, name }, id))) throw noSuchEnrolment();
    return emptyResponse;
  }
}
