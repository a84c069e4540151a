import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ListQuery } from '../orders/retrieve-orders.use-case';
import { sendAnswer } from '../wire/answer';
import { DescribesCertificates } from '../wire/openapi/certificate-operations';
import { RetrieveCertificates } from './retrieve-certificates.use-case';

@Controller('api/v3/orders/:name/certs')
@RequirePermission('Order and Manage Certificates')
@DescribesCertificates.all
export class CertificatesController {
  constructor(private readonly retrieval: RetrieveCertificates) {}

  @Get()
  @DescribesCertificates.list
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Param('name') name: string,
    @Query() query: ListQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.page(accountId, name, query));
  }

  @Get(':id')
  @DescribesCertificates.retrieve
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('name') name: string,
    @Param('id') id: string,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, name, id, expand));
  }
}
