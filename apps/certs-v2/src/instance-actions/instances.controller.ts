import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendResponse } from '../wire/response';
import { Expand, fieldsIn, Given, readArguments, type Sent } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import type { Expansion } from '../wire/expansion';
import { Write } from '../wire/write';
import { InstanceJson } from '../instances/instance-json';
import { commonName, DescribesGet, DescribesRepeatablePost } from '../wire/openapi/operation';
import { ImportRequest } from './import-request';
import { ImportInstance } from './import-instance.use-case';
import { InstancesQuery, ListInstances } from './list-instances.use-case';
import { InstanceQuery, RetrieveInstance } from '../instances/retrieve-instance.use-case';

@Controller('api/v2/certs/:CN/instances')
@RequirePermission('Order and Manage Certificates')
@commonName
export class InstancesController {
  constructor(
    private readonly listing: ListInstances,
    private readonly retrieval: RetrieveInstance,
    private readonly importing: ImportInstance,
  ) {}

  @Get()
  @DescribesGet({
    summary: 'Lists the instances, the newest first',
    query: InstancesQuery,
    returns: [InstanceJson],
    failsWith: ['no_such_cert', 'bad_param'],
  })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Param('CN') cn: string,
    @Query() query: Sent,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.listing.run(accountId, readCommonName(cn), query));
  }

  @Post()
  @DescribesRepeatablePost({
    summary: 'Imports a certificate that was issued elsewhere',
    takes: ImportRequest,
    returns: InstanceJson,
    failsWith: ['no_such_cert', 'missing_param', 'bad_certificate', 'already_imported'],
  })
  async import(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() given: Sent,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    const name = readCommonName(cn);
    const sent = readArguments(ImportRequest, given);
    sendResponse(reply, await this.importing.run(write, name, sent, expansion));
  }

  @Get(':INSTANCE_ID')
  @DescribesGet({
    summary: 'Retrieves an instance, by id or by its key',
    description:
      'The key is addressed as pubkey_hash:HASH. Polled while still pending: 412 not_ready with retry_after.',
    query: InstanceQuery,
    returns: InstanceJson,
    failsWith: ['no_such_cert', 'no_such_instance', 'no_such_pubkey_hash', 'bad_param', 'not_ready'],
  })
  @ApiParam({
    name: 'INSTANCE_ID',
    type: String,
    description: 'Id, or pubkey_hash: and the SHA-256 of the DER public key.',
  })
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('CN') cn: string,
    @Param('INSTANCE_ID') reference: string,
    @Query() query: Sent,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const onDisconnect = (disconnected: () => void) => onceDisconnected(request, reply, disconnected);
    const name = readCommonName(cn);
    const parameters = readArguments(InstanceQuery, fieldsIn(query));
    const response = await this.retrieval.run(accountId, name, reference, parameters, onDisconnect);
    if (response !== null) sendResponse(reply, response);
  }
}

/** Calls `disconnected` when the connection ends before the response does, also when it has ended already. */
function onceDisconnected({ raw }: FastifyRequest, reply: FastifyReply, disconnected: () => void): void {
  if (raw.socket.destroyed) disconnected();
  else reply.raw.once('close', disconnected);
}
