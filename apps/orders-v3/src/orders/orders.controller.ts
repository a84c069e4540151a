import type { WriteRequest } from '@certwright/idempotency';
import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import type { Precondition } from '../wire/entity-tag';
import { orderExpansion } from '../wire/expansion';
import { DescribesOrders } from '../wire/openapi/order-operations';
import { IfMatch, Write } from '../wire/request-parameters';
import { CreateOrder } from './create-order.use-case';
import { DeleteOrder } from './delete-order.use-case';
import { type ListQuery, RetrieveOrders } from './retrieve-orders.use-case';
import { UpdateOrder } from './update-order.use-case';

@Controller('api/v3/orders')
@RequirePermission('Order and Manage Certificates')
@DescribesOrders.all
export class OrdersController {
  constructor(
    private readonly creation: CreateOrder,
    private readonly update: UpdateOrder,
    private readonly retrieval: RetrieveOrders,
    private readonly deletion: DeleteOrder,
  ) {}

  @Post()
  @DescribesOrders.create
  async create(
    @Write() write: WriteRequest,
    @Body() body: unknown,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.creation.run(write, body, orderExpansion(expand)));
  }

  @Post(':name')
  @DescribesOrders.modify
  async modify(
    @Write() write: WriteRequest,
    @Param('name') name: string,
    @Body() body: unknown,
    @IfMatch() precondition: Precondition,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(
      reply,
      await this.update.run(write, { name, body, precondition, expansion: orderExpansion(expand) }),
    );
  }

  @Get()
  @DescribesOrders.list
  async list(@Caller() { accountId }: CallerIdentity, @Query() query: ListQuery, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.retrieval.page(accountId, query));
  }

  @Get(':name')
  @DescribesOrders.retrieve
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('name') name: string,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.one(accountId, name, expand));
  }

  @Delete(':name')
  @DescribesOrders.remove
  async remove(
    @Caller() { accountId }: CallerIdentity,
    @Param('name') name: string,
    @IfMatch() precondition: Precondition,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.deletion.run(accountId, name, precondition));
  }
}
