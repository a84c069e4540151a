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
import { csrTypes, knownKeyOf, KnownKeyRequest, knownKeys, KnownKeySchema } from './known-keys';
import { KnownQuery } from './known-kind';
import { RetrieveKnownObjects } from './retrieve-known-objects.use-case';

@Controller('api/v3/monitoring/known_keys')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Known keys')
@ApiBasicAuth()
@ApiBearerAuth()
export class KnownKeysController {
  constructor(
    private readonly addition: AddKnownObject,
    private readonly retrieval: RetrieveKnownObjects,
    private readonly deletion: DeleteKnownObject,
  ) {}

  @Post()
  @ApiOperation({
    operationId: 'addKnownKey',
    summary: 'Adds a known key; repeating the call changes nothing but the note',
    description:
      'A CSR, whose signature must verify and whose subject alternative names are the names, or the digest of a key with names. With other names the same key is another object.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: KnownKeySchema })
  @ApiResponse({ status: 200, description: 'The object exists', type: KnownKeySchema })
  @FailsWith({
    bad_key: 'The CSR or the body is not valid; see sub_errors',
    too_many_known: 'The account has 10,000 of them',
    ...posted,
  })
  async add(
    @Caller() caller: CallerIdentity,
    @BodyOf(KnownKeyRequest, { otherTypes: csrTypes }) body: SentBytes | ReadMembers<KnownKeyRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.addition.run(caller, knownKeys, knownKeyOf(body)));
  }

  @Get()
  @ApiOperation({
    operationId: 'listKnownKeys',
    summary: 'Lists the known keys of the account by id',
    description: 'While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [KnownKeySchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: KnownQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, knownKeys, query));
  }

  @Delete(':id')
  @ApiOperation({ operationId: 'deleteKnownKey', summary: 'Deletes a known key' })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith({ key_not_found: 'No such known key' })
  async remove(
    @Caller() caller: CallerIdentity,
    @ObjectId('Of the known key.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.deletion.run(caller, knownKeys, id));
  }
}
