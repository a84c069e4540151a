import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  NoBody,
  ObjectId,
  type ReadMembers,
  RequirePermission,
  sendResponse,
} from '@certwright/service';
import { Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith, posted } from '../wire/documented-errors';
import { Write } from '../wire/request-parameters';
import { CreateWebhook } from './create-webhook.use-case';
import { DeleteWebhook } from './delete-webhook.use-case';
import { RetrieveWebhooks } from './retrieve-webhooks.use-case';
import { RotateWebhookSecret } from './rotate-webhook-secret.use-case';
import { UpdateWebhook } from './update-webhook.use-case';
import { WebhookSchema, WebhookWithSecretSchema } from './webhook-json';
import { WebhookRequest } from './webhook-request';

const invalidWebhook = { bad_webhook: 'The body is not valid; see sub_errors' };
const noSuchWebhook = { webhook_not_found: 'No such webhook' };

/** A webhook receives every order of the account: an API key that only orders must not add one. */
@Controller('api/v3/account/webhooks')
@RequirePermission('Full Access')
@ApiTags('Webhooks')
@ApiBasicAuth()
@ApiBearerAuth()
export class WebhooksController {
  constructor(
    private readonly creation: CreateWebhook,
    private readonly updating: UpdateWebhook,
    private readonly retrieval: RetrieveWebhooks,
    private readonly deletion: DeleteWebhook,
    private readonly rotation: RotateWebhookSecret,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'listWebhooks',
    summary: 'Lists the webhooks of the account, oldest first',
    description: 'All of them: an account has 20 at most. Every route of webhooks needs Full Access.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [WebhookSchema] })
  @FailsWith()
  async list(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.retrieval.all(accountId));
  }

  @Post()
  @ApiOperation({
    operationId: 'createWebhook',
    summary: 'Adds a webhook; its signing secret is shown in this response only',
    description:
      'The member events selects what is posted to it. Whenever the current certificate of an order changes, the order object with current_cert.leaf, .chain and .root expanded is posted to every enabled webhook that selected order.current_cert_changed. Messages are signed according to Standard Webhooks. A delivery succeeds with a 2xx response within 15 s; redirects are not followed; failures are retried for about three days.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: WebhookWithSecretSchema })
  @FailsWith({ ...invalidWebhook, too_many_webhooks: 'The account has 20 webhooks', ...posted })
  async create(
    @Write() write: WriteRequest,
    @BodyOf(WebhookRequest) request: ReadMembers<WebhookRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.creation.run(write, request));
  }

  @Get(':id')
  @ApiOperation({ operationId: 'getWebhook', summary: 'Retrieves a webhook' })
  @ApiResponse({ status: 200, description: 'Success', type: WebhookSchema })
  @FailsWith(noSuchWebhook)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the webhook.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, id));
  }

  @Post(':id')
  @ApiOperation({
    operationId: 'updateWebhook',
    summary: 'Changes a webhook; members that are left out keep their value',
  })
  @ApiResponse({ status: 200, description: 'Success', type: WebhookSchema })
  @FailsWith({ ...invalidWebhook, ...noSuchWebhook, ...posted })
  async update(
    @Write() write: WriteRequest,
    @ObjectId('Of the webhook.') id: string,
    @BodyOf(WebhookRequest) request: ReadMembers<WebhookRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.updating.run(write, id, request));
  }

  @Delete(':id')
  @ApiOperation({
    operationId: 'deleteWebhook',
    summary: 'Removes a webhook, its deliveries and their log',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith(noSuchWebhook)
  async remove(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the webhook.') id: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.deletion.run(accountId, id));
  }

  @Post(':id/rotate_secret')
  @ApiOperation({
    operationId: 'rotateWebhookSecret',
    summary: 'Makes a new signing secret, shown in this response only',
    description:
      'Deliveries are also signed with each secret of before, until 24 h after it was replaced: webhook-signature has one signature of each, the new secret first. Rotating again within that time does not end them earlier.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: WebhookWithSecretSchema })
  @FailsWith({
    unexpected_member: 'The body is not empty',
    ...noSuchWebhook,
    too_many_secrets: 'It was rotated 8 times in 24 h',
    ...posted,
  })
  async rotateSecret(
    @Write() write: WriteRequest,
    @ObjectId('Of the webhook.') id: string,
    @NoBody() body: ReadMembers<object>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.rotation.run(write, id, body));
  }
}
