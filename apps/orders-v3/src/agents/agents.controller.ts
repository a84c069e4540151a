import { agentBasePath, limits } from '@certwright/agent-contract';
import { Problem } from '@certwright/errors';
import {
  BodyOf,
  emptyResponse,
  jsonResponse,
  MaxBody,
  type ReadMembers,
  Sender,
  sendResponse,
  Signed,
  ValidQuery,
} from '@certwright/service';
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiSecurity, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SignedFailsWith } from '../wire/documented-errors';
import { OrderName } from '../wire/request-parameters';
import type { Agent } from './agent-directory';
import { CsrBody, EnrolBody, KeysBody, ReportBody, StateQuery } from './agent-requests';
import {
  AgentChainSchema,
  AgentStateSchema,
  CsrAcceptedSchema,
  EnrolledSchema,
  MembersSchema,
  SealedKeysSchema,
} from './agent-responses';
import type { UnverifiedAgent } from './agent-signatures';
import { EnrolAgent } from './enrol-agent.use-case';
import { ExchangeKeys } from './exchange-keys.use-case';
import { ReceiveReport } from './receive-report.use-case';
import { RetrieveState } from './retrieve-state.use-case';
import { SubmitCsr } from './submit-csr.use-case';

const posted = {
  bad_agent_request: 'The body is not valid; see sub_errors',
  request_too_large: 'The body is too large',
  unsupported_media_type: 'The body is not application/json',
};
const noSuchOrder = { managed_order_not_found: 'The cluster has no such order' };
const hash = (name: string) =>
  ApiParam({
    name,
    description: 'SHA-256, lower-case hexadecimal.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  });

/** A newer agent may send members that are unknown here. @throws Problem `bad_request` */
function readable<T>({ value, faults }: ReadMembers<T>): T {
  if (faults.length > 0) throw Problem.ofFields(faults);
  return value as T;
}

/** What agents call; docs/agent-protocol.md describes it. No API key is accepted here, and no signature elsewhere. */
@Controller(agentBasePath.slice(1))
@Signed()
@ApiTags('Agents')
@ApiSecurity('signature')
export class AgentsController {
  constructor(
    private readonly enrolment: EnrolAgent,
    private readonly states: RetrieveState,
    private readonly csrs: SubmitCsr,
    private readonly exchange: ExchangeKeys,
    private readonly reports: ReceiveReport,
  ) {}

  @Post('enrol')
  @HttpCode(200)
  @Signed('in_body')
  @MaxBody(limits.maxEnrolBytes)
  @ApiOperation({
    operationId: 'enrolAgent',
    summary: 'Makes a host a member of a cluster',
    description:
      'Signed with the identity key of the body. The same keys and token again get the same response.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: EnrolledSchema })
  @SignedFailsWith({
    ...posted,
    cluster_key_required: 'The cluster has an agent, and no cluster key',
    too_many_agents: 'The cluster has too many agents',
  })
  async enrol(
    @Sender() sender: UnverifiedAgent,
    @BodyOf(EnrolBody) request: ReadMembers<EnrolBody>,
    @Res() reply: FastifyReply,
  ) {
    const body = readable(request);
    await sender.verify(Buffer.from(body.identity_key, 'base64url'));
    const enrolled = await this.enrolment.run(body);
    if (enrolled === null) throw await sender.refused();
    sendResponse(reply, jsonResponse(200, enrolled));
  }

  @Get('state')
  @ApiOperation({
    operationId: 'getAgentState',
    summary: 'Waits for changes of the orders of the cluster',
    description: 'A long poll: 204 when nothing changed within `wait` seconds.',
  })
  @ApiResponse({ status: 200, description: 'What changed', type: AgentStateSchema })
  @ApiResponse({ status: 204, description: 'Nothing changed; no body' })
  @SignedFailsWith({ bad_query: 'A parameter is not valid' })
  async state(
    @Sender() agent: Agent,
    @ValidQuery() query: StateQuery,
    @Req() { raw }: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    // Also when the client disconnected before the handler ran.
    const onDisconnect = (disconnected: () => void) => {
      if (raw.socket.destroyed) disconnected();
      else reply.raw.once('close', disconnected);
    };
    const response = await this.states.run(agent, query, onDisconnect);
    if (response === null) reply.hijack();
    else sendResponse(reply, response);
  }

  @Get('members')
  @ApiOperation({
    operationId: 'listMembers',
    summary: 'Lists the agents of the cluster with their statements',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MembersSchema })
  @SignedFailsWith()
  async members(@Sender() agent: Agent, @Res() reply: FastifyReply) {
    sendResponse(reply, jsonResponse(200, await this.exchange.members(agent)));
  }

  @Get('certificates/:sha256')
  @hash('sha256')
  @ApiOperation({
    operationId: 'getAgentCertificate',
    summary: 'Retrieves a certificate of an order of the cluster',
  })
  @ApiResponse({ status: 200, description: 'Success', type: AgentChainSchema })
  @SignedFailsWith({ managed_certificate_not_found: 'No order of the cluster has it' })
  async certificate(@Sender() agent: Agent, @Param('sha256') sha256: string, @Res() reply: FastifyReply) {
    sendResponse(reply, jsonResponse(200, await this.exchange.certificate(agent, sha256)));
  }

  @Get('orders/:name/keys/:spki_sha256')
  @hash('spki_sha256')
  @ApiOperation({ operationId: 'getSealedKeys', summary: 'Retrieves a key that is sealed for this agent' })
  @ApiResponse({ status: 200, description: 'Success', type: SealedKeysSchema })
  @SignedFailsWith(noSuchOrder)
  async keys(
    @Sender() agent: Agent,
    @OrderName() name: string,
    @Param('spki_sha256') spkiSha256: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, jsonResponse(200, await this.exchange.keysOf(agent, name, spkiSha256)));
  }

  @Post('orders/:name/keys/:spki_sha256')
  @hash('spki_sha256')
  @MaxBody(limits.maxKeysBytes)
  @ApiOperation({
    operationId: 'sealKey',
    summary: 'Stores copies of a key for members that joined after it was made',
    description: 'From the agent with the task seal_key_for. A second copy for a receiver changes nothing.',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @SignedFailsWith({ ...posted, ...noSuchOrder, not_asked: 'The agent does not have this task' })
  async seal(
    @Sender() agent: Agent,
    @OrderName() name: string,
    @Param('spki_sha256') spkiSha256: string,
    @BodyOf(KeysBody) request: ReadMembers<KeysBody>,
    @Res() reply: FastifyReply,
  ) {
    await this.exchange.seal(agent, name, spkiSha256, readable(request).keys);
    sendResponse(reply, emptyResponse);
  }

  @Post('orders/:name/csr')
  @HttpCode(200)
  @MaxBody(limits.maxKeysBytes)
  @ApiOperation({
    operationId: 'submitCsr',
    summary: 'Responds to the task make_key with a CSR, and the key sealed for every other member',
    description: 'Issues a certificate at once. The same CSR again gets the same response.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: CsrAcceptedSchema })
  @SignedFailsWith({
    ...posted,
    ...noSuchOrder,
    payment_required:
      'Balance and credit limit of the account do not cover the certificate; the task comes again',
    not_asked: "An old or unknown task, or another agent's",
    members_changed: 'The keys are not for exactly the present members',
  })
  async csr(
    @Sender() agent: Agent,
    @OrderName() name: string,
    @BodyOf(CsrBody) request: ReadMembers<CsrBody>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, jsonResponse(200, await this.csrs.run(agent, name, readable(request))));
  }

  @Post('reports')
  @MaxBody(limits.maxReportBytes)
  @ApiOperation({
    operationId: 'reportInstallations',
    summary: 'Reports what is installed and served',
    description: 'A report with an older or the same number changes nothing.',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @SignedFailsWith(posted)
  async report(
    @Sender() agent: Agent,
    @BodyOf(ReportBody) request: ReadMembers<ReportBody>,
    @Res() reply: FastifyReply,
  ) {
    await this.reports.run(agent, readable(request));
    sendResponse(reply, emptyResponse);
  }
}
