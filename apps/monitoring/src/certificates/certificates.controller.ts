import {
  BodyOf,
  Caller,
  type CallerIdentity,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  validMembers,
  ValidQuery,
} from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith, posted } from '../wire/documented-errors';
import {
  CertificateDigest,
  MonitoredCertificateRequest,
  MonitoredCertificateSchema,
  MonitoredCertificatesQuery,
} from './certificate';
import { ChangeCertificate } from './change-certificate.use-case';
import { RetrieveCertificates } from './retrieve-certificates.use-case';

const noSuchCertificate = { finding_not_found: 'No certificate with this digest concerns the account' };

@Controller('api/v3/monitoring/certificates')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Certificates')
@ApiBasicAuth()
@ApiBearerAuth()
export class CertificatesController {
  constructor(
    private readonly retrieval: RetrieveCertificates,
    private readonly changing: ChangeCertificate,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listCertificates',
    summary: 'Lists the certificates that concern the account, newest first',
    description:
      'A page may have fewer than the limit; while there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [MonitoredCertificateSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: MonitoredCertificatesQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, query));
  }

  @Get(':tbs_sha256')
  @ApiOperation({
    operationId: 'getCertificate',
    summary: 'Retrieves a certificate that concerns the account',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoredCertificateSchema })
  @FailsWith(noSuchCertificate)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @CertificateDigest() digest: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, digest));
  }

  @Post(':tbs_sha256')
  @ApiOperation({
    operationId: 'changeCertificate',
    summary: 'Acknowledges a certificate, or authorizes its key',
    description: 'Alerts that were not sent yet are canceled. Repeating the call changes nothing.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoredCertificateSchema })
  @FailsWith({
    bad_acknowledgment: 'The body is not valid; see sub_errors',
    ...noSuchCertificate,
    nothing_to_acknowledge: 'The certificate is known',
    key_not_authorizable: 'The key cannot be authorized for the monitored names of the certificate',
    too_many_known: 'The account has 10,000 known keys',
    ...posted,
  })
  async change(
    @Caller() caller: CallerIdentity,
    @CertificateDigest() digest: string,
    @BodyOf(MonitoredCertificateRequest) request: ReadMembers<MonitoredCertificateRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.changing.run(caller, digest, validMembers(request)));
  }
}
