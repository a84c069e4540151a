import {
  BodyOf,
  Caller,
  type CallerIdentity,
  ObjectId,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  type SentBytes,
  ValidQuery,
} from '@certwright/service';
import { Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith, posted } from '../wire/documented-errors';
import { AddKnownObject } from './add-known-object.use-case';
import { DeleteKnownObject } from './delete-known-object.use-case';
import { certificateTypes, knownCertOf, KnownCertRequest, knownCerts, KnownCertSchema } from './known-certs';
import { KnownQuery } from './known-kind';
import { RetrieveKnownObjects } from './retrieve-known-objects.use-case';

@Controller('api/v3/monitoring/known_certs')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Known certificates')
@ApiBasicAuth()
@ApiBearerAuth()
export class KnownCertsController {
  constructor(
    private readonly addition: AddKnownObject,
    private readonly retrieval: RetrieveKnownObjects,
    private readonly deletion: DeleteKnownObject,
  ) {}

  @Post()
  @ApiOperation({
    operationId: 'addKnownCert',
    summary: 'Adds a known certificate; repeating the call changes nothing but the note',
    description: 'A certificate or precertificate, or the digest of its TBSCertificate.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: KnownCertSchema })
  @ApiResponse({ status: 200, description: 'The object exists', type: KnownCertSchema })
  @FailsWith({
    bad_certificate: 'The certificate or the body is not valid; see sub_errors',
    too_many_known: 'The account has 10,000 of them',
    ...posted,
  })
  async add(
    @Caller() caller: CallerIdentity,
    @BodyOf(KnownCertRequest, { otherTypes: certificateTypes })
    body: SentBytes | ReadMembers<KnownCertRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.addition.run(caller, knownCerts, knownCertOf(body)));
  }

  @Get()
  @ApiOperation({
    operationId: 'listKnownCerts',
    summary: 'Lists the known certificates of the account by id',
    description: 'While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [KnownCertSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: KnownQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, knownCerts, query));
  }

  @Delete(':id')
  @ApiOperation({ operationId: 'deleteKnownCert', summary: 'Deletes a known certificate' })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith({ certificate_not_found: 'No such known certificate' })
  async remove(
    @Caller() caller: CallerIdentity,
    @ObjectId('Of the known certificate.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.deletion.run(caller, knownCerts, id));
  }
}
