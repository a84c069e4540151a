import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendResponse, sendList } from '../wire/response';
import { Expand, Given, type Sent } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { commonName, DescribesGet, DescribesRepeatablePost } from '../wire/openapi/operation';
import type { Expansion } from '../wire/expansion';
import { Write } from '../wire/write';
import { CertObjectJson } from './cert-object-json';
import { CertObjectRequest, readCertObjectRequest } from './cert-object-request';
import { CertObjectsQuery, RetrieveCertObjects } from './retrieve-cert-objects.use-case';
import { SaveCertObject } from './save-cert-object.use-case';

@Controller('api/v2/certs')
@RequirePermission('Order and Manage Certificates')
export class CertObjectsController {
  constructor(
    private readonly saving: SaveCertObject,
    private readonly retrieval: RetrieveCertObjects,
  ) {}

  @Post(':CN')
  @DescribesRepeatablePost({
    summary: 'Creates or updates an object',
    description:
      'For a new object csr and approval_method are required. Only what is sent changes. Instances do not change.',
    takes: CertObjectRequest,
    returns: CertObjectJson,
    failsWith: [
      'bad_cn',
      'bad_bitsize',
      'bad_csr',
      'bad_country',
      'bad_curve',
      'bad_keytype',
      'bad_sans',
      'bad_tags',
      'bad_type',
      'bad_approval_method',
      'bad_approver_email',
      'missing_param',
      'bad_param',
      'product_unavailable',
      'too_many_certs',
    ],
  })
  @commonName
  async save(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() given: Sent,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    const name = readCommonName(cn);
    const request = readCertObjectRequest(given);
    sendResponse(reply, await this.saving.run(write, name, request, expansion));
  }

  @Get()
  @DescribesGet({
    summary: 'Lists the certificate objects by common name',
    description:
      'All objects of the account; with limit a page, whose Link header is the address of the next one.',
    query: CertObjectsQuery,
    returns: [CertObjectJson],
    failsWith: ['bad_param'],
  })
  async list(@Caller() { accountId }: CallerIdentity, @Query() query: Sent, @Res() reply: FastifyReply) {
    sendList(reply, await this.retrieval.list(accountId, query));
  }

  @Get(':CN')
  @DescribesGet({
    summary: 'Retrieves an object, or the defaults of one that does not exist',
    returns: CertObjectJson,
    failsWith: ['bad_cn'],
  })
  @commonName
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('CN') cn: string,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, readCommonName(cn), expansion));
  }
}
