import type { WriteRequest } from '@certwright/idempotency';
import { RequirePermission } from '@certwright/service';
import { Controller, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { Expand, Given, readArguments, type Sent } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import type { Expansion } from '../wire/expansion';
import { Write } from '../wire/write';
import { InstanceJson } from '../instances/instance-json';
import { commonName, DescribesRepeatablePost } from '../wire/openapi/operation';
import { BuyRequest, readBuyRequest } from './buy-request';
import { OpenInstance } from './open-instance.use-case';
import { RedoApproval } from './redo-approval.use-case';
import { RevokeInstances, RevokeRequest, RevokeResultJson } from './revoke-instances.use-case';

/** Reasons with which a buy and a reissue fail. */
const opening = [
  'no_such_cert',
  'bad_csr',
  'payment_required',
  'already_pending',
  'product_unavailable',
] as const;

/** Actions on a certificate object that change its instances. Each refuses a body that is not an object. */
@Controller('api/v2/certs/:CN')
@RequirePermission('Order and Manage Certificates')
@commonName
export class InstanceActionsController {
  constructor(
    private readonly opening: OpenInstance,
    private readonly redoing: RedoApproval,
    private readonly revoking: RevokeInstances,
  ) {}

  @Post('buy')
  @DescribesRepeatablePost({
    summary: 'Buys a certificate for one year',
    takes: BuyRequest,
    returns: InstanceJson,
    failsWith: [...opening, 'bad_param'],
  })
  async buy(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() given: Sent,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    const name = readCommonName(cn);
    sendResponse(reply, await this.opening.run(write, name, readBuyRequest(given), expansion));
  }

  @Post('reissue')
  @DescribesRepeatablePost({
    summary: 'Issues a new certificate within the term that was bought',
    description: 'Needs an active instance and takes its expiry. Names that are added are charged for.',
    returns: InstanceJson,
    failsWith: ['inactive_cert', 'imported_instance', ...opening],
  })
  async reissue(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() _nothing: Sent,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    const name = readCommonName(cn);
    sendResponse(reply, await this.opening.run(write, name, { kind: 'as_paid' }, expansion));
  }

  @Post('redo_approval')
  @DescribesRepeatablePost({
    summary: 'Starts the approval of the pending instance again',
    description:
      'Emails are sent again, at most every ten minutes and five a day to one address; earlier 429 with retry_after.',
    returns: InstanceJson,
    failsWith: ['no_such_cert', 'no_pending_instance'],
  })
  async redoApproval(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() _nothing: Sent,
    @Expand() expansion: Expansion,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.redoing.run(write, readCommonName(cn), expansion));
  }

  @Post('revoke')
  @DescribesRepeatablePost({
    summary: 'Revokes every instance but the active one, or all',
    takes: RevokeRequest,
    returns: RevokeResultJson,
    failsWith: ['no_such_cert'],
  })
  async revoke(
    @Write() write: WriteRequest,
    @Param('CN') cn: string,
    @Given() given: Sent,
    @Res() reply: FastifyReply,
  ) {
    const name = readCommonName(cn);
    sendResponse(reply, await this.revoking.run(write, name, readArguments(RevokeRequest, given)));
  }
}
