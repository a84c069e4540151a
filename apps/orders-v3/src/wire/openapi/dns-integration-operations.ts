import { applyDecorators } from '@nestjs/common';
import {
  ApiBasicAuth,
  ApiBearerAuth,
  ApiBody,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import {
  DnsIntegrationRequestSchema,
  DnsIntegrationSchema,
  DnsProvidersSchema,
  DnsZoneSchema,
} from './dns-integration-schema';
import { failsWith, posted } from './errors';
import { idempotent } from './parameters';

const integrationId = ApiParam({
  name: 'id',
  schema: { type: 'integer' },
  description: 'Of the DNS integration.',
});

const expandsZones = ApiQuery({
  name: 'expand',
  required: false,
  isArray: true,
  schema: { type: 'array', items: { type: 'string', enum: ['zones'] } },
  description: 'May be repeated. Unknown names are ignored.',
});

const noSuchIntegration = { integration_not_found: 'No such DNS integration' };

const providerAway = {
  provider_rate_limited: 'The provider limits the rate of requests; see Retry-After',
  provider_unavailable: 'The provider is unavailable; see Retry-After',
};

/** What the OpenAPI document says about each route of DNS integrations. */
export const DescribesDnsIntegrations = {
  /** New for each controller: a decorator of @nestjs/swagger that is applied twice adds its security twice. */
  get all() {
    return applyDecorators(ApiTags('DNS integrations'), ApiBearerAuth(), ApiBasicAuth());
  },
  providers: applyDecorators(
    ApiOperation({
      operationId: 'listDnsProviders',
      summary: 'Lists the DNS providers that can be integrated, and what each needs',
      description:
        'As it is for this account: the external id, for one, is its own. Without a DNS gateway there are none.',
    }),
    ApiResponse({ status: 200, description: 'Success', type: DnsProvidersSchema }),
    failsWith(),
  ),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listDnsIntegrations',
      summary: 'Lists the DNS integrations of the account, oldest first',
      description: 'All of them: an account has 50 at most. Every route of integrations needs Full Access.',
    }),
    expandsZones,
    ApiResponse({ status: 200, description: 'Success', type: [DnsIntegrationSchema] }),
    failsWith(),
  ),
  create: applyDecorators(
    ApiOperation({
      operationId: 'createDnsIntegration',
      summary: 'Integrates a DNS provider',
      description:
        'From then on the approval record of every name in one of its zones is published through it, so that certificates are issued and renewed without a person. The provider is asked whether it takes the credentials before this is answered.',
    }),
    ApiBody({ type: DnsIntegrationRequestSchema }),
    expandsZones,
    idempotent,
    ApiResponse({ status: 201, description: 'Created', type: DnsIntegrationSchema }),
    failsWith({
      bad_integration:
        'See sub_errors: on `credentials`, also when the provider refuses them; on `provider`, also when this deployment does not offer it',
      too_many_integrations: 'The account has 50 DNS integrations',
      ...providerAway,
      ...posted,
    }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getDnsIntegration', summary: 'Retrieves a DNS integration' }),
    integrationId,
    expandsZones,
    ApiResponse({ status: 200, description: 'Success', type: DnsIntegrationSchema }),
    failsWith(noSuchIntegration),
  ),
  remove: applyDecorators(
    ApiOperation({
      operationId: 'deleteDnsIntegration',
      summary: 'Removes a DNS integration, and soon after every record that was published through it',
    }),
    integrationId,
    ApiResponse({ status: 204, description: 'Done; no body' }),
    failsWith(noSuchIntegration),
  ),
  zones: applyDecorators(
    ApiOperation({
      operationId: 'listDnsZones',
      summary: 'Lists the zones of a DNS integration, as its provider does now',
      description:
        'Every answer is remembered, and shown where `zones` is expanded. While the integration is busy the list of last time is answered.',
    }),
    integrationId,
    ApiResponse({ status: 200, description: 'Success', type: [DnsZoneSchema] }),
    failsWith({
      ...noSuchIntegration,
      integration_lost: 'The integration can no longer be used',
      provider_auth_failed: 'The provider refuses the credentials',
      provider_rejected: 'The provider refuses the request',
      ...providerAway,
    }),
  ),
};
