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
import { FailsWith, posted } from '../wire/documented-errors';
import { DeleteMonitoredDomain } from './delete-monitored-domain.use-case';
import {
  DomainName,
  MonitoredDomainQuery,
  MonitoredDomainRequest,
  MonitoredDomainSchema,
} from './monitored-domain';
import { RetrieveMonitoredDomains } from './retrieve-monitored-domains.use-case';
import { SetMonitoredDomain } from './set-monitored-domain.use-case';

const invalidName = {
  bad_name: 'The name is not a DNS name',
  not_public: 'The name is a public suffix, or beneath none',
};
const noSuchDomain = { domain_not_found: 'No such monitored domain' };
const dotsOnly = { method_not_allowed: 'The name is only dots, which is the path of the list' };

@Controller('api/v3/monitoring/monitored_domains')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Monitored domains')
@ApiBasicAuth()
@ApiBearerAuth()
export class MonitoredDomainsController {
  constructor(
    private readonly setting: SetMonitoredDomain,
    private readonly retrieval: RetrieveMonitoredDomains,
    private readonly deletion: DeleteMonitoredDomain,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listMonitoredDomains',
    summary: 'Lists the monitored domains of the account by name',
    description: 'All of them, on one page.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [MonitoredDomainSchema] })
  @FailsWith()
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: MonitoredDomainQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.all(accountId, query));
  }

  @Get(':name')
  @ApiOperation({ operationId: 'getMonitoredDomain', summary: 'Retrieves a monitored domain' })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoredDomainSchema })
  @FailsWith({ ...invalidName, ...noSuchDomain })
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @DomainName() name: string,
    @ValidQuery() query: MonitoredDomainQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, name, query));
  }

  @Post(':name')
  @ApiOperation({
    operationId: 'setMonitoredDomain',
    summary: 'Creates a monitored domain, or changes it',
    description: 'Repeating the call changes nothing. `.example.com` and `example.com` are two objects.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: MonitoredDomainSchema })
  @ApiResponse({ status: 200, description: 'The object exists', type: MonitoredDomainSchema })
  @FailsWith({
    ...invalidName,
    bad_domain: 'The body is not valid; see sub_errors',
    too_many_domains: 'The account has its maximum number of monitored domains',
    ...dotsOnly,
    ...posted,
  })
  async set(
    @Caller() caller: CallerIdentity,
    @DomainName() name: string,
    @BodyOf(MonitoredDomainRequest, { isOptional: true }) request: ReadMembers<MonitoredDomainRequest>,
    @ValidQuery() query: MonitoredDomainQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.setting.run(caller, name, request, query));
  }

  @Delete(':name')
  @ApiOperation({ operationId: 'deleteMonitoredDomain', summary: 'Deletes a monitored domain' })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith({ ...invalidName, ...noSuchDomain, ...dotsOnly })
  async remove(@Caller() caller: CallerIdentity, @DomainName() name: string, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.deletion.run(caller, name));
  }
}
