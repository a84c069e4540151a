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
import { failsWith, idempotent, paged } from './parameters';
import { keyReused, webhookId } from './webhook-operations';

const deliveryId = ApiParam({ name: 'delivery_id', schema: { type: 'string' } });

const sent = applyDecorators(
  idempotent,
  ApiResponse({ status: 201, type: DeliveryWithBodySchema }),
  failsWith({
    400: 'The body is not empty',
    404: 'No such webhook, or no such delivery',
    409: 'The webhook is disabled or the order deleted, or the Idempotency-Key is in use',
    422: keyReused,
  }),
);

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
    ApiResponse({ status: 200, type: [DeliverySchema] }),
    failsWith({ 400: 'A parameter is not valid', 404: 'No such webhook' }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getDelivery', summary: 'Retrieves a delivery with what is sent' }),
    webhookId,
    deliveryId,
    ApiResponse({ status: 200, type: DeliveryWithBodySchema }),
    failsWith({ 404: 'No such webhook, or no such delivery' }),
  ),
  replay: applyDecorators(
    ApiOperation({
      operationId: 'replayDelivery',
      summary: 'Sends the same body again, as a delivery of its own',
    }),
    webhookId,
    deliveryId,
    sent,
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
  ),
};
