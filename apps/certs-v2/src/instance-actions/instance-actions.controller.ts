import type { WriteRequest } from '@certwright/idempotency';
import { RequirePermission } from '@certwright/service';
import { Controller, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { Arguments, Given } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { Expansion } from '../wire/expansion';
import { Write } from '../wire/write';
import { OpenInstance } from './open-instance.use-case';
import { RedoApproval } from './redo-approval.use-case';
import { RevokeInstances } from './revoke-instances.use-case';

/** What is done with a certificate object as a whole, and changes its instances. A body that is none is refused everywhere. */
@Controller('api/v2/certs/:cn')
@RequirePermission('Order and Manage Certificates')
export class InstanceActionsController {
  constructor(
    private readonly opening: OpenInstance,
    private readonly redoing: RedoApproval,
    private readonly revoking: RevokeInstances,
  ) {}

  @Post('buy')
  async buy(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() given: Arguments,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.opening.buy(write, readCommonName(cn), given, Expansion.of(expand)));
  }

  @Post('reissue')
  async reissue(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() _nothing: Arguments,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.opening.reissue(write, readCommonName(cn), Expansion.of(expand)));
  }

  @Post('redo_approval')
  async redoApproval(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() _nothing: Arguments,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.redoing.run(write, readCommonName(cn), Expansion.of(expand)));
  }

  @Post('revoke')
  async revoke(
    @Write() write: WriteRequest,
    @Param('cn') cn: string,
    @Given() given: Arguments,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.revoking.run(write, readCommonName(cn), given));
  }
}
