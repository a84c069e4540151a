import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { Arguments, Given } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { Expansion } from '../wire/expansion';
import { Write } from '../wire/write';
import { ImportInstance } from './import-instance.use-case';
import { type InstancesQuery, ListInstances } from './list-instances.use-case';
import { type InstanceQuery, RetrieveInstance } from '../instances/retrieve-instance.use-case';

@Controller('api/v2/certs/:cn/instances')
@RequirePermission('Order and Manage Certificates')
export class InstancesController {
  constructor(
    private readonly listing: ListInstances,
    private readonly retrieval: RetrieveInstance,
    private readonly importing: ImportInstance,
  ) {}

  @Get()
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Param('cn') cn: string,
    @Query() query: InstancesQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.listing.run(accountId, readCommonName(cn), query));
  }

  @Post()
  async import(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() given: Arguments,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.importing.run(write, readCommonName(cn), given, Expansion.of(expand)));
  }

  @Get(':instance')
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('cn') cn: string,
    @Param('instance') instance: string,
    @Query() { poll, expand }: Pick<InstanceQuery, 'poll' | 'expand'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const whenGone = (gone: () => void) => onceGone(request, reply, gone);
    const answer = await this.retrieval.run(
      accountId,
      { cn: readCommonName(cn), instance, poll, expand },
      whenGone,
    );
    if (answer !== null) sendAnswer(reply, answer);
  }
}

/** Calls `gone` when the connection ends before the answer does, also when it has ended already. */
function onceGone({ raw }: FastifyRequest, reply: FastifyReply, gone: () => void): void {
  if (raw.socket.destroyed) gone();
  else reply.raw.once('close', gone);
}
