import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { DescribesDnsIntegrations } from '../wire/openapi/dns-integration-operations';
import { RetrieveProviders } from './retrieve-providers.use-case';

@Controller('api/v3/account/dns_providers')
@RequirePermission('Full Access')
@DescribesDnsIntegrations.all
export class DnsProvidersController {
  constructor(private readonly retrieval: RetrieveProviders) {}

  @Get()
  @DescribesDnsIntegrations.providers
  async list(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.retrieval.run(accountId));
  }
}
