import { endpointJson, MonitoredEndpoints, MonitoredEndpointSchema } from '@certwright/monitored-endpoints';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  jsonResponse,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  validMembers,
  ValidQuery,
} from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Addresses } from '../wire/addresses';
import { FailsWith, posted } from '../wire/documented-errors';
import { noSuchEndpoint } from '../wire/problems';
import { ChangeEndpoint } from './change-endpoint.use-case';
import {
  EndpointName,
  endpointNameInPath,
  EndpointRequest,
  EndpointsQuery,
  nextEndpointsLink,
} from './endpoint';

const noEndpoint = { endpoint_not_found: 'No such endpoint' };

@Controller('api/v3/monitoring/endpoints')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Endpoints')
@ApiBasicAuth()
@ApiBearerAuth()
export class EndpointsController {
  constructor(
    private readonly endpoints: MonitoredEndpoints,
    private readonly changing: ChangeEndpoint,
    private readonly addresses: Addresses,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listEndpoints',
    summary: 'Lists the endpoints of the account by name',
    description:
      'Hosts whose certificate is checked: names of certificates that were found, and hosts that are monitored by name. A page may have fewer than the limit; while there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [MonitoredEndpointSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: EndpointsQuery,
    @Res() reply: FastifyReply,
  ) {
    const { after, limit, state: states } = query;
    const { endpoints, hasMore } = await this.endpoints.page(accountId, { after, limit, states });
    const last = endpoints.at(-1);
    const headers =
      hasMore && last !== undefined
        ? { link: nextEndpointsLink(this.addresses.list('endpoints'), last.dns_name, query) }
        : undefined;
    sendResponse(reply, jsonResponse(200, endpoints.map(endpointJson), headers));
  }

  @Get(':dns_name')
  @ApiOperation({ operationId: 'getEndpoint', summary: 'Retrieves an endpoint' })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoredEndpointSchema })
  @FailsWith(noEndpoint)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @EndpointName() name: string,
    @Res() reply: FastifyReply,
  ) {
    const found = await this.endpoints.get(accountId, endpointNameInPath(name));
    if (found === null) throw noSuchEndpoint();
    sendResponse(reply, jsonResponse(200, endpointJson(found)));
  }

  @Post(':dns_name')
  @ApiOperation({
    operationId: 'changeEndpoint',
    summary: 'Mutes an endpoint, or sets its ports; members that are left out keep their value',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoredEndpointSchema })
  @FailsWith({ bad_endpoint: 'The body is not valid; see sub_errors', ...noEndpoint, ...posted })
  async change(
    @Caller() caller: CallerIdentity,
    @EndpointName() name: string,
    @BodyOf(EndpointRequest) request: ReadMembers<EndpointRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.changing.run(caller, name, validMembers(request)));
  }
}
