import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ListQuery } from '../orders/retrieve-orders.use-case';
import { sendAnswer } from '../wire/answer';
import { certificateExpansion } from '../wire/expansion';
import { DescribesCertificates } from '../wire/openapi/certificate-operations';
import { Write } from '../wire/request-parameters';
import { RetrieveCertificates } from './retrieve-certificates.use-case';
import { RevokeCertificate } from './revoke-certificate.use-case';

@Controller('api/v3/orders/:name/certs')
@RequirePermission('Order and Manage Certificates')
@DescribesCertificates.all
export class CertificatesController {
  constructor(
    private readonly retrieval: RetrieveCertificates,
    private readonly revocation: RevokeCertificate,
  ) {}

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

  @Post(':id/revoke')
  @DescribesCertificates.revoke
  async revoke(
    @Write() write: WriteRequest,
    @Param('name') orderName: string,
    @Param('id') certificateId: string,
    @Body() body: unknown,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    const expansion = certificateExpansion(expand);
    sendAnswer(reply, await this.revocation.run(write, { orderName, certificateId, body, expansion }));
  }
}
