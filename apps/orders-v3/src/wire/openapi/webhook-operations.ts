import { applyDecorators } from '@nestjs/common';
import {
  ApiBasicAuth,
  ApiBearerAuth,
  ApiBody,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { failsWith, posted } from './errors';
import { idempotent } from './parameters';
import { WebhookRequestSchema, WebhookSchema, WebhookWithSecretSchema } from './webhook-schema';

const body = ApiBody({ type: WebhookRequestSchema });

export const webhookId = ApiParam({
  name: 'id',
  schema: { type: 'integer' },
  description: 'Of the webhook.',
});

export const noSuchWebhook = { webhook_not_found: 'No such webhook' };

/** What the OpenAPI document says about each route of webhooks. */
export const DescribesWebhooks = {
  all: applyDecorators(ApiTags('Webhooks'), ApiBearerAuth(), ApiBasicAuth()),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listWebhooks',
      summary: 'Lists the webhooks of the account, oldest first',
      description: 'All of them: an account has 20 at most. Every route of webhooks needs Full Access.',
    }),
    ApiResponse({ status: 200, description: 'Success', type: [WebhookSchema] }),
    failsWith(),
  ),
  create: applyDecorators(
    ApiOperation({
      operationId: 'createWebhook',
      summary: 'Adds a webhook; its signing secret is shown in this answer and never again',
      description:
        'Whenever the current certificate of an order changes, the order object with current_cert.leaf, .chain and .root expanded is posted to every enabled webhook, signed as Standard Webhooks has it. What counts as delivered is an answer 2xx within 15 s; redirects are not followed; failures are tried again for some three days.',
    }),
    body,
    idempotent,
    ApiResponse({ status: 201, description: 'Created', type: WebhookWithSecretSchema }),
    failsWith({
      bad_webhook: 'The body is not valid; see sub_errors',
      too_many_webhooks: 'The account has 20 webhooks',
      ...posted,
    }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getWebhook', summary: 'Retrieves a webhook' }),
    webhookId,
    ApiResponse({ status: 200, description: 'Success', type: WebhookSchema }),
    failsWith(noSuchWebhook),
  ),
  update: applyDecorators(
    ApiOperation({
      operationId: 'updateWebhook',
      summary: 'Changes a webhook; members that are left out keep their value',
    }),
    webhookId,
    body,
    idempotent,
    ApiResponse({ status: 200, description: 'Success', type: WebhookSchema }),
    failsWith({ bad_webhook: 'The body is not valid; see sub_errors', ...noSuchWebhook, ...posted }),
  ),
  remove: applyDecorators(
    ApiOperation({
      operationId: 'deleteWebhook',
      summary: 'Removes a webhook, its deliveries and their log',
    }),
    webhookId,
    ApiResponse({ status: 204, description: 'Done; no body' }),
    failsWith(noSuchWebhook),
  ),
  rotateSecret: applyDecorators(
    ApiOperation({
      operationId: 'rotateWebhookSecret',
      summary: 'Makes a new signing secret, shown in this answer and never again',
      description:
        'For 24 h deliveries are signed with both: webhook-signature has one signature of each. Rotating again within that time ends the older of the two at once.',
    }),
    webhookId,
    idempotent,
    ApiResponse({ status: 200, description: 'Success', type: WebhookWithSecretSchema }),
    failsWith({ unexpected_member: 'The body is not empty', ...noSuchWebhook, ...posted }),
  ),
};
