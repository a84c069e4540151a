import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { type Arguments, Given } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { Expansion } from '../wire/expansion';
import { sendList } from '../wire/stream';
import { Write } from '../wire/write';
import { type ListQuery, RetrieveCertObjects } from './retrieve-cert-objects.use-case';
import { SaveCertObject } from './save-cert-object.use-case';

@Controller('api/v2/certs')
@RequirePermission('Order and Manage Certificates')
export class CertObjectsController {
  constructor(
    private readonly saving: SaveCertObject,
    private readonly retrieval: RetrieveCertObjects,
  ) {}

  @Post(':cn')
  async save(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() given: Arguments,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.saving.run(write, readCommonName(cn), given, Expansion.of(expand)));
  }

  @Get()
  async list(@Caller() { accountId }: CallerIdentity, @Query() query: ListQuery, @Res() reply: FastifyReply) {
    sendList(reply, await this.retrieval.list(accountId, query));
  }

  @Get(':cn')
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('cn') cn: string,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, readCommonName(cn), Expansion.of(expand)));
  }
}
