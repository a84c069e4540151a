import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { asksForZones } from '../wire/dns-integration-json';
import { DescribesDnsIntegrations } from '../wire/openapi/dns-integration-operations';
import { Write } from '../wire/request-parameters';
import { CreateIntegration } from './create-integration.use-case';
import { DeleteIntegration } from './delete-integration.use-case';
import { ListZones } from './list-zones.use-case';
import { RetrieveIntegrations } from './retrieve-integrations.use-case';

/** Whoever can replace an integration decides through which DNS the account's names are approved: no key that only orders. */
@Controller('api/v3/account/dns_integrations')
@RequirePermission('Full Access')
@DescribesDnsIntegrations.all
export class DnsIntegrationsController {
  constructor(
    private readonly creation: CreateIntegration,
    private readonly retrieval: RetrieveIntegrations,
    private readonly deletion: DeleteIntegration,
    private readonly zoneListing: ListZones,
  ) {}

  @Get()
  @DescribesDnsIntegrations.list
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.all(accountId, asksForZones(expand)));
  }

  @Post()
  @DescribesDnsIntegrations.create
  async create(
    @Write() write: WriteRequest,
    @Body() body: unknown,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.creation.run(write, body, asksForZones(expand)));
  }

  @Get(':id')
  @DescribesDnsIntegrations.retrieve
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('id') id: string,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, id, asksForZones(expand)));
  }

  @Delete(':id')
  @DescribesDnsIntegrations.remove
  async remove(@Caller() { accountId }: CallerIdentity, @Param('id') id: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.deletion.run(accountId, id));
  }

  @Get(':id/zones')
  @DescribesDnsIntegrations.zones
  async zones(@Caller() { accountId }: CallerIdentity, @Param('id') id: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.zoneListing.run(accountId, id));
  }
}
