import { applyDecorators } from '@nestjs/common';
import {
  ApiBasicAuth,
  ApiBearerAuth,
  ApiExtraModels,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { DeliverySchema, DeliveryWithBodySchema, TestEventSchema } from './delivery-schema';
import { failsWith, posted } from './errors';
import { idempotent, paged } from './parameters';
import { noSuchWebhook, webhookId } from './webhook-operations';

const deliveryId = ApiParam({ name: 'delivery_id', schema: { type: 'string' } });

const noSuchDelivery = { ...noSuchWebhook, delivery_not_found: 'No such delivery' };

const sent = applyDecorators(
  idempotent,
  ApiResponse({ status: 201, description: 'Created', type: DeliveryWithBodySchema }),
);

const notSent = {
  unexpected_member: 'The body is not empty',
  nothing_sent: 'The webhook is disabled, or the order was deleted',
  ...posted,
};

/** What the OpenAPI document says about each route of deliveries. */
export const DescribesDeliveries = {
  all: applyDecorators(ApiTags('Webhooks'), ApiBearerAuth(), ApiBasicAuth()),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listDeliveries',
      summary: 'Lists the deliveries of a webhook with their attempts, newest first',
      description: 'Of the last 30 days. While there are more, the Link header carries rel="next".',
    }),
    webhookId,
    paged('Id of the last delivery of the page before.'),
    ApiResponse({ status: 200, description: 'Success', type: [DeliverySchema] }),
    failsWith({ bad_query: 'A parameter is not valid', ...noSuchWebhook }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getDelivery', summary: 'Retrieves a delivery with what is sent' }),
    webhookId,
    deliveryId,
    ApiResponse({ status: 200, description: 'Success', type: DeliveryWithBodySchema }),
    failsWith(noSuchDelivery),
  ),
  replay: applyDecorators(
    ApiOperation({
      operationId: 'replayDelivery',
      summary: 'Sends the same body again, as a delivery of its own',
    }),
    webhookId,
    deliveryId,
    sent,
    failsWith({ ...noSuchDelivery, ...notSent }),
  ),
  test: applyDecorators(
    ApiExtraModels(TestEventSchema),
    ApiOperation({
      operationId: 'testWebhook',
      summary: 'Sends a test event',
      description: 'Its Webhook-Event is test, and its body a TestEventSchema.',
    }),
    webhookId,
    sent,
    failsWith({ ...noSuchWebhook, ...notSent }),
  ),
};
