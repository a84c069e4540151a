import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { DescribesWebhooks } from '../wire/openapi/webhook-operations';
import { Write } from '../wire/request-parameters';
import { CreateWebhook } from './create-webhook.use-case';
import { DeleteWebhook } from './delete-webhook.use-case';
import { RetrieveWebhooks } from './retrieve-webhooks.use-case';
import { RotateWebhookSecret } from './rotate-webhook-secret.use-case';
import { UpdateWebhook } from './update-webhook.use-case';

/** Who can add a webhook sees every order of the account from then on: a key that only orders must not. */
@Controller('api/v3/account/webhooks')
@RequirePermission('Full Access')
@DescribesWebhooks.all
export class WebhooksController {
  constructor(
    private readonly creation: CreateWebhook,
    private readonly updating: UpdateWebhook,
    private readonly retrieval: RetrieveWebhooks,
    private readonly deletion: DeleteWebhook,
    private readonly rotation: RotateWebhookSecret,
  ) {}

  @Get()
  @DescribesWebhooks.list
  async list(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.retrieval.all(accountId));
  }

  @Post()
  @DescribesWebhooks.create
  async create(@Write() write: WriteRequest, @Body() body: unknown, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.creation.run(write, body));
  }

  @Get(':id')
  @DescribesWebhooks.retrieve
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, id));
  }

  @Post(':id')
  @DescribesWebhooks.update
  async update(
    @Write() write: WriteRequest,
    @Param('id') id: string,
    @Body() body: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.updating.run(write, id, body));
  }

  @Delete(':id')
  @DescribesWebhooks.remove
  async remove(@Caller() { accountId }: CallerIdentity, @Param('id') id: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.deletion.run(accountId, id));
  }

  @Post(':id/rotate_secret')
  @DescribesWebhooks.rotateSecret
  async rotateSecret(
    @Write() write: WriteRequest,
    @Param('id') id: string,
    @Body() body: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.rotation.run(write, id, body));
  }
}
