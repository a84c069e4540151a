import type { WriteRequest } from '@certwright/idempotency';
import {
  Caller,
  type CallerIdentity,
  documentedParameter,
  NoBody,
  type ReadMembers,
  RequirePermission,
  ValidQuery,
} from '@certwright/service';
import { Controller, Get, Param, Post, Res } from '@nestjs/common';
import {
  ApiBasicAuth,
  ApiBearerAuth,
  ApiExtraModels,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { FailsWith, posted } from '../wire/documented-errors';
import { ObjectId, Write } from '../wire/request-parameters';
import { DeliverySchema, DeliveryWithBodySchema } from './delivery-json';
import { DeliveriesQuery, RetrieveDeliveries } from './retrieve-deliveries.use-case';
import { SendDelivery } from './send-delivery.use-case';
import { TestEventSchema } from './webhook-json';

const DeliveryId = () =>
  documentedParameter(Param('delivery_id'), ApiParam({ name: 'delivery_id', schema: { type: 'string' } }));

const noSuchWebhook = { webhook_not_found: 'No such webhook' };
const noSuchDelivery = { ...noSuchWebhook, delivery_not_found: 'No such delivery' };
const notSent = {
  unexpected_member: 'The body is not empty',
  nothing_sent: 'The webhook is disabled, or the order was deleted',
  ...posted,
};

@Controller('api/v3/account/webhooks/:id')
@RequirePermission('Full Access')
@ApiTags('Webhooks')
@ApiBasicAuth()
@ApiBearerAuth()
export class DeliveriesController {
  constructor(
    private readonly retrieval: RetrieveDeliveries,
    private readonly sending: SendDelivery,
  ) {}

  @Get('deliveries')
  @ApiOperation({
    operationId: 'listDeliveries',
    summary: 'Lists the deliveries of a webhook with their attempts, newest first',
    description: 'Of the last 30 days. While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [DeliverySchema] })
  @FailsWith({ bad_query: 'A parameter is not valid', ...noSuchWebhook })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the webhook.') id: string,
    @ValidQuery() query: DeliveriesQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, id, query));
  }

  @Get('deliveries/:delivery_id')
  @ApiOperation({ operationId: 'getDelivery', summary: 'Retrieves a delivery with what is sent' })
  @ApiResponse({ status: 200, description: 'Success', type: DeliveryWithBodySchema })
  @FailsWith(noSuchDelivery)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @ObjectId('Of the webhook.') id: string,
    @DeliveryId() deliveryId: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, id, deliveryId));
  }

  @Post('deliveries/:delivery_id/replay')
  @ApiOperation({
    operationId: 'replayDelivery',
    summary: 'Sends the same body again, as a delivery of its own',
  })
  @ApiResponse({ status: 201, description: 'Created', type: DeliveryWithBodySchema })
  @FailsWith({ ...noSuchDelivery, ...notSent })
  async replay(
    @Write() write: WriteRequest,
    @ObjectId('Of the webhook.') id: string,
    @DeliveryId() deliveryId: string,
    @NoBody() body: ReadMembers<object>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.sending.replay(write, id, deliveryId, body));
  }

  @Post('test')
  @ApiExtraModels(TestEventSchema)
  @ApiOperation({
    operationId: 'testWebhook',
    summary: 'Sends a test event',
    description: 'Its Webhook-Event is test, and its body a TestEventSchema.',
  })
  @ApiResponse({ status: 201, description: 'Created', type: DeliveryWithBodySchema })
  @FailsWith({ ...noSuchWebhook, ...notSent })
  async test(
    @Write() write: WriteRequest,
    @ObjectId('Of the webhook.') id: string,
    @NoBody() body: ReadMembers<object>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.sending.test(write, id, body));
  }
}
