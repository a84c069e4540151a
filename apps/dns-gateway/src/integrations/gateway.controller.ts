import { Public, requestReading } from '@certwright/service';
import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DescribesMessage, failsWithHandle } from '../wire/openapi';
import { AddedSchema, AddRecord } from './add-record';
import { GetZones, ZonesSchema } from './get-zones';
import { IntegrationSchema, MakeIntegration } from './make-integration';
import { AddRecordRequest, GetZonesRequest, MakeIntegrationRequest, RemoveRecordRequest } from './messages';
import { RemovedSchema, RemoveRecord } from './remove-record';
import { RequestBounds } from './request-bounds';

/** The four messages. No API key is required (`Public`): clients were admitted by their certificates before. */
@Public()
@Controller()
export class GatewayController {
  constructor(
    private readonly bounds: RequestBounds,
    private readonly makes: MakeIntegration,
    private readonly zones: GetZones,
    private readonly adds: AddRecord,
    private readonly removes: RemoveRecord,
  ) {}

  @Post('make_integration')
  @HttpCode(200)
  @DescribesMessage({
    operationId: 'make_integration',
    summary: 'Makes an integration handle of credentials',
    description: 'They are checked at the provider; an OAuth code is used up by it.',
    success: IntegrationSchema,
    fails: { invalid_value: 'The provider is not known, or the credentials cannot be opened' },
  })
  async makeIntegration(
    @Body(requestReading) message: MakeIntegrationRequest,
    @Req() request: FastifyRequest,
  ): Promise<IntegrationSchema> {
    return await this.bounds.run((signal) => this.makes.make(message, { ...senderOf(request), signal }));
  }

  @Post('get_zones')
  @HttpCode(200)
  @DescribesMessage({
    operationId: 'get_zones',
    summary: 'Lists the zones that the credentials may change',
    description: 'As the provider tells them.',
    success: ZonesSchema,
    fails: failsWithHandle,
  })
  async getZones(
    @Body(requestReading) message: GetZonesRequest,
    @Req() request: FastifyRequest,
  ): Promise<ZonesSchema> {
    return await this.bounds.run((signal) => this.zones.get(message, { ...senderOf(request), signal }));
  }

  @Post('add_record')
  @HttpCode(200)
  @DescribesMessage({
    operationId: 'add_record',
    summary: 'Adds a record',
    description:
      'Only what the policy allows; docs/dns-gateway.md says what that is. If the record exists already, the response is also a handle that removes it.',
    success: AddedSchema,
    fails: {
      invalid_record: 'The record is not valid',
      out_of_range: 'The TTL is out of range',
      ...failsWithHandle,
      policy_violation: 'The record does not relate to the issuance of certificates',
      zone_not_found: 'No zone of the integration holds the name',
      record_conflict: 'Something else is at the name',
    },
  })
  async addRecord(
    @Body(requestReading) message: AddRecordRequest,
    @Req() request: FastifyRequest,
  ): Promise<AddedSchema> {
    return await this.bounds.run((signal) => this.adds.add(message, { ...senderOf(request), signal }));
  }

  @Post('remove_record')
  @HttpCode(200)
  @DescribesMessage({
    operationId: 'remove_record',
    summary: 'Removes a record that the gateway added',
    description: 'One that is gone already is a success.',
    success: RemovedSchema,
    fails: { ...failsWithHandle, zone_not_found: 'The zone is gone' },
  })
  async removeRecord(
    @Body(requestReading) message: RemoveRecordRequest,
    @Req() request: FastifyRequest,
  ): Promise<RemovedSchema> {
    return await this.bounds.run((signal) => this.removes.remove(message, { ...senderOf(request), signal }));
  }
}

const senderOf = ({ id, client }: FastifyRequest) => ({ requestId: id, client });
