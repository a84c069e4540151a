import { objectNameFault, type Cluster, Clusters } from '@certwright/accounts';
import { Transactions, type Tx } from '@certwright/core-schema';
import { type FieldFault, Problem } from '@certwright/errors';
import { RepeatableRequests, type WriteRequest } from '@certwright/idempotency';
import {
  After,
  emptyResponse,
  type HttpResponse,
  jsonResponse,
  Limit,
  maxPageSize,
  pageOf,
  type ReadMembers,
  unknownMemberFaults,
  validMembers,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { contentTag, type Precondition } from '../wire/entity-tag';
import {
  clusterExists,
  clusterHasAgents,
  clusterMismatch,
  clusterNotEmpty,
  noSuchCluster,
} from '../wire/problems';
import { clusterJson } from './cluster-json';
import { type ClusterRequest, type RekeyRequest, updateFaults } from './cluster-request';

export class ClustersQuery {
  @After((text) => objectNameFault(text) === null, 'Name of the last cluster of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

/** A rekey without `now` is spread over this time. */
const rekeySpreadS = 3_600;

const nameMissing: FieldFault = { field: 'name', code: 'missing_field', message: 'A cluster needs a name.' };

@Injectable()
export class ManageClusters {
  constructor(
    private readonly requests: RepeatableRequests,
    private readonly transactions: Transactions,
    private readonly clusters: Clusters,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `bad_request` with everything that is wrong; `already_exists` */
  async create(write: WriteRequest, read: ReadMembers<ClusterRequest>): Promise<HttpResponse> {
    const { name, cluster_key: clusterKey = null, rotate_keys: rotateKeys = true } = read.value;
    const faults = [...read.faults, ...unknownMemberFaults(read)];
    const isAbsent = name === undefined && !faults.some(({ field }) => field === 'name');
    const all = isAbsent ? [nameMissing, ...faults] : faults;
    return await this.requests.run(write, async (tx) => {
      if (all.length > 0 || name === undefined) throw Problem.ofFields(all);
      const { accountId } = write;
      const cluster = await this.clusters.create(tx, { accountId, name, clusterKey, rotateKeys });
      if (cluster === null) throw clusterExists();
      const shown = clusterJson(cluster);
      return jsonResponse(201, shown, { location: this.addresses.cluster(name), etag: contentTag(shown) });
    });
  }

  /** @throws Problem `not_found`, `revision_mismatch`, `conflict`, or `bad_request` with everything that is wrong */
  async update(
    write: WriteRequest,
    name: string,
    read: ReadMembers<ClusterRequest>,
    precondition: Precondition,
  ): Promise<HttpResponse> {
    return await this.requests.run(write, async (tx) => {
      if (read.value.rotate_keys !== undefined)
        await this.clusters.lockPlans(tx, { accountId: write.accountId, name });
      const before = await this.locked(tx, write.accountId, name, precondition);
      const faults = updateFaults(read, name);
      if (faults.length > 0) throw Problem.ofFields(faults);
      const { cluster_key: clusterKey = before.clusterKey, rotate_keys: rotateKeys = before.rotateKeys } =
        read.value;
      const changesKey = clusterKey?.toString('hex') !== before.clusterKey?.toString('hex');
      if (changesKey && (await this.clusters.hasAgents(tx, before))) throw clusterHasAgents();
      const shown = clusterJson(await this.clusters.update(tx, { ...before, clusterKey, rotateKeys }));
      return jsonResponse(200, shown, { etag: contentTag(shown) });
    });
  }

  /** @throws Problem `not_found` */
  async one(accountId: string, name: string): Promise<HttpResponse> {
    const cluster = await this.clusters.find(accountId, name);
    if (cluster === null) throw noSuchCluster();
    const shown = clusterJson(cluster);
    return jsonResponse(200, shown, { etag: contentTag(shown) });
  }

  /** By name. */
  async page(accountId: string, query: ClustersQuery): Promise<HttpResponse> {
    const { after, limit } = query;
    const found = await this.clusters.page(accountId, after, limit + 1);
    const { rows, headers } = pageOf(found, query, this.addresses.clusters, ({ name }) => name);
    return jsonResponse(200, rows.map(clusterJson), headers);
  }

  /** With its agents and enrolment tokens. @throws Problem `not_found`, `revision_mismatch`, `cluster_not_empty` */
  async remove(accountId: string, name: string, precondition: Precondition): Promise<HttpResponse> {
    return await this.transactions.run(async (tx) => {
      const cluster = await this.locked(tx, accountId, name, precondition);
      const order = await this.clusters.firstOrder(tx, cluster);
      if (order !== null) throw clusterNotEmpty(order);
      await this.clusters.remove(tx, cluster);
      return emptyResponse;
    });
  }

  /** New keys for all orders of the cluster. @throws Problem `not_found`, `bad_request` */
  async rekey(write: WriteRequest, name: string, read: ReadMembers<RekeyRequest>): Promise<HttpResponse> {
    return await this.requests.run(write, async (tx) => {
      const cluster = await this.clusters.find(write.accountId, name, tx);
      if (cluster === null) throw noSuchCluster();
      const { now } = validMembers(read);
      return jsonResponse(200, { orders: await this.clusters.rekey(tx, cluster, now ? 0 : rekeySpreadS) });
    });
  }

  private async locked(
    tx: Tx,
    accountId: string,
    name: string,
    precondition: Precondition,
  ): Promise<Cluster> {
    const cluster = await this.clusters.lock(tx, accountId, name);
    if (cluster === null) throw noSuchCluster();
    if (!precondition(contentTag(clusterJson(cluster)))) throw clusterMismatch();
    return cluster;
  }
}
