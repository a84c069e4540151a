import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  ValidQuery,
} from '@certwright/service';
import { Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { conditionedCluster, FailsWith, posted } from '../wire/documented-errors';
import type { Precondition } from '../wire/entity-tag';
import { ClusterName, IfMatch, Write } from '../wire/request-parameters';
import { ClusterSchema, RekeySchema } from './cluster-json';
import { ClusterRequest, RekeyRequest } from './cluster-request';
import { ClustersQuery, ManageClusters } from './manage-clusters.use-case';

const noSuchCluster = { cluster_not_found: 'No such cluster' };
const invalidCluster = { bad_cluster: 'The body is not valid; see sub_errors' };
const IfMatchCluster = () => IfMatch('Entity tags of the cluster, or *. 412 if it was modified.');

@Controller('api/v3/clusters')
@RequirePermission('Order and Manage Certificates')
@ApiTags('Clusters')
@ApiBasicAuth()
@ApiBearerAuth()
export class ClustersController {
  constructor(private readonly clusters: ManageClusters) {}

  @Post()
  @ApiOperation({
    operationId: 'createCluster',
    summary: 'Creates a cluster, which orders can name',
    description: 'The agents of the cluster create the keys of these orders and install the certificates.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: ClusterSchema })
  @FailsWith({ ...invalidCluster, cluster_exists: 'The name is taken', ...posted })
  async create(
    @Write() write: WriteRequest,
    @BodyOf(ClusterRequest) request: ReadMembers<ClusterRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.create(write, request));
  }

  @Get()
  @ApiOperation({
    operationId: 'listClusters',
    summary: 'Lists the clusters of the account by name',
    description: 'While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [ClusterSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: ClustersQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.page(accountId, query));
  }

  @Get(':name')
  @ApiOperation({ operationId: 'getCluster', summary: 'Retrieves a cluster' })
  @ApiResponse({ status: 200, description: 'Success', type: ClusterSchema })
  @FailsWith(noSuchCluster)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.one(accountId, name));
  }

  @Post(':name')
  @ApiOperation({
    operationId: 'updateCluster',
    summary: 'Modifies a cluster; members that are left out keep their value',
  })
  @ApiResponse({ status: 200, description: 'Success', type: ClusterSchema })
  @FailsWith({
    ...invalidCluster,
    ...noSuchCluster,
    cluster_has_agents: 'The cluster key cannot change while the cluster has agents',
    ...conditionedCluster,
    ...posted,
  })
  async update(
    @Write() write: WriteRequest,
    @ClusterName() name: string,
    @BodyOf(ClusterRequest) request: ReadMembers<ClusterRequest>,
    @IfMatchCluster() precondition: Precondition,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.update(write, name, request, precondition));
  }

  @Delete(':name')
  @ApiOperation({
    operationId: 'deleteCluster',
    summary: 'Removes a cluster that no order names, with its agents and enrolment tokens',
    description: 'What the agents have installed stays on their hosts.',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith({ ...noSuchCluster, cluster_not_empty: 'Orders name it', ...conditionedCluster })
  async remove(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @IfMatchCluster() precondition: Precondition,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.remove(accountId, name, precondition));
  }

  @Post(':name/rekey')
  @ApiOperation({
    operationId: 'rekeyCluster',
    summary: 'Replaces the keys of all orders of the cluster',
    description:
      'Each order gets a new key from an agent, and a new certificate. Use it after a host was removed that may have been compromised. Orders that wait for a key already are not delayed.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: RekeySchema })
  @FailsWith({ ...noSuchCluster, unexpected_member: 'The body is not valid; see sub_errors', ...posted })
  async rekey(
    @Write() write: WriteRequest,
    @ClusterName() name: string,
    @BodyOf(RekeyRequest, { isOptional: true }) request: ReadMembers<RekeyRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.clusters.rekey(write, name, request));
  }
}
