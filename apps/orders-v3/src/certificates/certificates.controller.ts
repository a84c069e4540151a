import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  type ReadMembers,
  RequirePermission,
  ValidQuery,
} from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { CertificateSchema } from '../wire/certificate-json';
import { FailsWith, posted } from '../wire/documented-errors';
import { certificateExpansion } from '../wire/expansion';
import { ObjectId, OrderName, Write } from '../wire/request-parameters';
import { CertificateQuery, CertificatesQuery, RetrieveCertificates } from './retrieve-certificates.use-case';
import { RevocationRequest } from './revocation-request';
import { RevokeCertificate } from './revoke-certificate.use-case';

const noSuchOrder = { order_not_found: 'No such order' };
const noSuchCertificate = { ...noSuchOrder, certificate_not_found: 'No such certificate' };

@Controller('api/v3/orders/:name/certs')
@RequirePermission('Order and Manage Certificates')
@ApiTags('Certificates')
@ApiBasicAuth()
@ApiBearerAuth()
export class CertificatesController {
  constructor(
    private readonly retrieval: RetrieveCertificates,
    private readonly revocation: RevokeCertificate,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listCertificates',
    summary: 'Lists the certificates of an order, newest first',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [CertificateSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid', ...noSuchOrder })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @OrderName() name: string,
    @ValidQuery() query: CertificatesQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, name, query));
  }

  @Get(':id')
  @ApiOperation({ operationId: 'getCertificate', summary: 'Retrieves a certificate of an order' })
  @ApiResponse({ status: 200, description: 'Success', type: CertificateSchema })
  @FailsWith(noSuchCertificate)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @OrderName() name: string,
    @ObjectId() id: string,
    @ValidQuery() query: CertificateQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, name, id, query));
  }

  @Post(':id/revoke')
  @ApiOperation({
    operationId: 'revokeCertificate',
    summary: 'Revokes a certificate of an order',
    description:
      'May be repeated: the first reason stays, except that keyCompromise can be said later. With keyCompromise every ' +
      'certificate of the order with this key is revoked, and the key cannot be used again in the account. When the ' +
      'current certificate is revoked and auto_renew is true, a new one is issued, unless the reason is ' +
      'cessationOfOperation.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: CertificateSchema })
  @FailsWith({
    bad_reason: 'The body is not valid; see sub_errors',
    ...noSuchCertificate,
    conflict: 'The certificate has expired',
    ...posted,
  })
  async revoke(
    @Write() write: WriteRequest,
    @OrderName() orderName: string,
    @ObjectId() certificateId: string,
    @BodyOf(RevocationRequest, { isOptional: true }) request: ReadMembers<RevocationRequest>,
    @ValidQuery() { expand }: CertificateQuery,
    @Res() reply: FastifyReply,
  ) {
    const expansion = certificateExpansion(expand);
    sendResponse(reply, await this.revocation.run(write, { orderName, certificateId, request, expansion }));
  }
}
