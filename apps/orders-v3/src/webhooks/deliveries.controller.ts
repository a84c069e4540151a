import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { DescribesDeliveries } from '../wire/openapi/delivery-operations';
import { Write } from '../wire/request-parameters';
import { type DeliveriesQuery, RetrieveDeliveries } from './retrieve-deliveries.use-case';
import { SendDelivery } from './send-delivery.use-case';

@Controller('api/v3/account/webhooks/:id')
@RequirePermission('Full Access')
@DescribesDeliveries.all
export class DeliveriesController {
  constructor(
    private readonly retrieval: RetrieveDeliveries,
    private readonly sending: SendDelivery,
  ) {}

  @Get('deliveries')
  @DescribesDeliveries.list
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Param('id') id: string,
    @Query() query: DeliveriesQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.page(accountId, id, query));
  }

  @Get('deliveries/:delivery_id')
  @DescribesDeliveries.retrieve
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('id') id: string,
    @Param('delivery_id') deliveryId: string,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, id, deliveryId));
  }

  @Post('deliveries/:delivery_id/replay')
  @DescribesDeliveries.replay
  async replay(
    @Write() write: WriteRequest,
    @Param('id') id: string,
    @Param('delivery_id') deliveryId: string,
    @Body() body: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.sending.replay(write, id, deliveryId, body));
  }

  @Post('test')
  @DescribesDeliveries.test
  async test(
    @Write() write: WriteRequest,
    @Param('id') id: string,
    @Body() body: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.sending.test(write, id, body));
  }
}
