import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  type ReadMembers,
  RequirePermission,
  ValidQuery,
} from '@certwright/service';
import { Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { FailsWith, posted } from '../wire/documented-errors';
import { ObjectId, Write } from '../wire/request-parameters';
import { CreateIntegration } from './create-integration.use-case';
import { DeleteIntegration } from './delete-integration.use-case';
import { DnsIntegrationSchema, DnsProvidersSchema, DnsZoneSchema } from './integration-json';
import { IntegrationRequest } from './integration-request';
import { ListZones } from './list-zones.use-case';
import { IntegrationQuery, RetrieveIntegrations } from './retrieve-integrations.use-case';
import { RetrieveProviders } from './retrieve-providers.use-case';

const noSuchIntegration = { integration_not_found: 'No such DNS integration' };
const providerFails = {
  provider_rate_limited: 'The provider limits the rate of requests; see Retry-After',
  provider_unavailable: 'The provider is unavailable; see Retry-After',
};

@Controller('api/v3/account/dns_providers')
@RequirePermission('Full Access')
@ApiTags('DNS integrations')
@ApiBasicAuth()
@ApiBearerAuth()
export class DnsProvidersController {
  constructor(private readonly retrieval: RetrieveProviders) {}

  @Get()
  @ApiOperation({
    operationId: 'listDnsProviders',
    summary: 'Lists the DNS providers that can be integrated, and what each needs',
    description: 'Values are specific to the account, such as the external id. Empty without a DNS gateway.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: DnsProvidersSchema })
  @FailsWith()
  async list(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.retrieval.run(accountId));
  }
}

/** An integration decides through which DNS the account's names are approved: an API key that only orders must not replace one. */
@Controller('api/v3/account/dns_integrations')
@RequirePermission('Full Access')
@ApiTags('DNS integrations')
@ApiBasicAuth()
@ApiBearerAuth()
export class DnsIntegrationsController {
  constructor(
    private readonly creation: CreateIntegration,
    private readonly retrieval: RetrieveIntegrations,
    private readonly deletion: DeleteIntegration,
    private readonly zoneListing: ListZones,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listDnsIntegrations',
    summary: 'Lists the DNS integrations of the account, oldest first',
    description: 'All of them: an account has 50 at most. Every route of integrations needs Full Access.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [DnsIntegrationSchema] })
  @FailsWith()
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() { expand }: IntegrationQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.all(accountId, expand.includes('zones')));
  }

  @Post()
  @ApiOperation({
    operationId: 'createDnsIntegration',
    summary: 'Integrates a DNS provider',
    description:
      'From then on the approval record of every name in one of its zones is published through it, so that certificates are issued and renewed without a person. The credentials are verified with the provider before the response is sent.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: DnsIntegrationSchema })
  @FailsWith({
    bad_integration:
      'See sub_errors: on `credentials`, also when the provider refuses them; on `provider`, also when this deployment does not offer it',
    too_many_integrations: 'The account has 50 DNS integrations',
    ...providerFails,
    ...posted,
  })
  async create(
    @Write() write: WriteRequest,
    @BodyOf(IntegrationRequest) body: ReadMembers<IntegrationRequest>,
    @ValidQuery() { expand }: IntegrationQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.creation.run(write, body, expand.includes('zones')));
  }

  @Get(':id')
  @ApiOperation({ operationId: 'getDnsIntegration', summary: 'Retrieves a DNS integration' })
  @ApiResponse({ status: 200, description: 'Success', type: DnsIntegrationSchema })
  @FailsWith(noSuchIntegration)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the DNS integration.') id: string,
    @ValidQuery() { expand }: IntegrationQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, id, expand.includes('zones')));
  }

  @Delete(':id')
  @ApiOperation({
    operationId: 'deleteDnsIntegration',
    summary: 'Removes a DNS integration, and soon after every record that was published through it',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith(noSuchIntegration)
  async remove(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the DNS integration.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.deletion.run(accountId, id));
  }

  @Get(':id/zones')
  @ApiOperation({
    operationId: 'listDnsZones',
    summary: 'Lists the zones of a DNS integration, as its provider does now',
    description:
      'The list is stored, and shown where `zones` is expanded. While the integration is busy, the previous list is returned.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [DnsZoneSchema] })
  @FailsWith({
    ...noSuchIntegration,
    integration_lost: 'The integration can no longer be used',
    provider_auth_failed: 'The provider refuses the credentials',
    provider_rejected: 'The provider refuses the request',
    ...providerFails,
  })
  async zones(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the DNS integration.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.zoneListing.run(accountId, id));
  }
}
