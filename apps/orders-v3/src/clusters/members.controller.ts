import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  documentedParameter,
  ObjectId,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  ValidQuery,
} from '@certwright/service';
import { Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith, posted } from '../wire/documented-errors';
import { ClusterName, Write } from '../wire/request-parameters';
import { AgentSchema, EnrolmentSchema, EnrolmentWithTokenSchema } from './cluster-json';
import { EnrolmentRequest } from './cluster-request';
import { AgentsQuery, ManageAgents } from './manage-agents.use-case';
import { EnrolmentsQuery, ManageEnrolments } from './manage-enrolments.use-case';

const noSuchCluster = { cluster_not_found: 'No such cluster' };
const noSuchEnrolment = { ...noSuchCluster, enrolment_not_found: 'No such token' };
const noSuchAgent = { ...noSuchCluster, agent_not_found: 'No such agent' };

const AgentId = () => documentedParameter(Param('id'), ApiParam({ name: 'id', schema: { type: 'string' } }));

/** Who becomes a member of a cluster, and who is one. */
@Controller('api/v3/clusters/:name')
@RequirePermission('Order and Manage Certificates')
@ApiTags('Clusters')
@ApiBasicAuth()
@ApiBearerAuth()
export class MembersController {
  constructor(
    private readonly enrolments: ManageEnrolments,
    private readonly agents: ManageAgents,
  ) {}

  @Post('enrolments')
  @ApiOperation({
    operationId: 'createEnrolment',
    summary: 'Creates an enrolment token, shown in this response only',
    description:
      'Agents enrol with it. A token alone does not make a host a member of a cluster with a cluster key: that needs the seed of the cluster key too, which only the join string has.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: EnrolmentWithTokenSchema })
  @FailsWith({
    bad_enrolment: 'The body is not valid; see sub_errors',
    ...noSuchCluster,
    too_many_enrolments: 'The cluster has too many active tokens',
    ...posted,
  })
  async createEnrolment(
    @Write() write: WriteRequest,
    @ClusterName() name: string,
    @BodyOf(EnrolmentRequest, { isOptional: true }) request: ReadMembers<EnrolmentRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.enrolments.create(write, name, request));
  }

  @Get('enrolments')
  @ApiOperation({
    operationId: 'listEnrolments',
    summary: 'Lists the enrolment tokens of a cluster without the tokens themselves, newest first',
    description:
      'Tokens that ended are listed for 30 days. While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [EnrolmentSchema] })
  @FailsWith({ ...noSuchCluster, bad_query: 'A parameter is not valid' })
  async listEnrolments(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @ValidQuery() query: EnrolmentsQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.enrolments.page(accountId, name, query));
  }

  @Delete('enrolments/:id')
  @ApiOperation({
    operationId: 'revokeEnrolment',
    summary: 'Revokes an enrolment token; agents that enrolled with it stay',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith(noSuchEnrolment)
  async revokeEnrolment(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @ObjectId('Of the enrolment token.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.enrolments.revoke(accountId, name, id));
  }

  @Get('agents')
  @ApiOperation({
    operationId: 'listAgents',
    summary: 'Lists the agents of a cluster by id',
    description: 'While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [AgentSchema] })
  @FailsWith({ ...noSuchCluster, bad_query: 'A parameter is not valid' })
  async listAgents(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @ValidQuery() query: AgentsQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.agents.page(accountId, name, query));
  }

  @Get('agents/:id')
  @ApiOperation({ operationId: 'getAgent', summary: 'Retrieves an agent' })
  @ApiResponse({ status: 200, description: 'Success', type: AgentSchema })
  @FailsWith(noSuchAgent)
  async retrieveAgent(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @AgentId() id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.agents.one(accountId, name, id));
  }

  @Delete('agents/:id')
  @ApiOperation({
    operationId: 'removeAgent',
    summary: 'Removes an agent: its requests are refused within 10 s, and it gets no further keys',
    description:
      'The keys that it has stay valid: rekey the cluster if the host may be compromised. What it has installed stays on the host.',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith(noSuchAgent)
  async removeAgent(
    @Caller() { accountId }: CallerIdentity,
    @ClusterName() name: string,
    @AgentId() id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.agents.remove(accountId, name, id));
  }
}
