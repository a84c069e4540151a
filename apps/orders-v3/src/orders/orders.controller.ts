import type { WriteRequest } from '@certwright/idempotency';
import {
  BodyOf,
  Caller,
  type CallerIdentity,
  type ReadMembers,
  RequirePermission,
  ValidQuery,
} from '@certwright/service';
import { Controller, Delete, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { conditioned, FailsWith, posted } from '../wire/documented-errors';
import type { Precondition } from '../wire/entity-tag';
import { orderExpansion } from '../wire/expansion';
import { IfMatch, OrderName, Write } from '../wire/request-parameters';
import { CreateOrder } from './create-order.use-case';
import { DeleteOrder } from './delete-order.use-case';
import { OrderSchema } from './order-json';
import { OrderRequest } from './order-request';
import { OrderQuery, OrdersQuery, RetrieveOrders } from './retrieve-orders.use-case';
import { UpdateOrder } from './update-order.use-case';

const invalidOrder = {
  bad_order: 'The body is not valid; see sub_errors',
  payment_required: 'Balance and credit limit of the account do not cover what it costs',
};
const noSuchOrder = { order_not_found: 'No such order' };

@Controller('api/v3/orders')
@RequirePermission('Order and Manage Certificates')
@ApiTags('Orders')
@ApiBasicAuth()
@ApiBearerAuth()
export class OrdersController {
  constructor(
    private readonly creation: CreateOrder,
    private readonly update: UpdateOrder,
    private readonly retrieval: RetrieveOrders,
    private readonly deletion: DeleteOrder,
  ) {}

  @Post()
  @ApiOperation({
    operationId: 'createOrder',
    summary: 'Creates an order; a certificate is issued asynchronously',
  })
  @ApiResponse({ status: 201, description: 'Created', type: OrderSchema })
  @FailsWith({ ...invalidOrder, already_exists: 'The name is taken', ...posted })
  async create(
    @Write() write: WriteRequest,
    @BodyOf(OrderRequest) request: ReadMembers<OrderRequest>,
    @ValidQuery() { expand }: OrderQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.creation.run(write, request, orderExpansion(expand)));
  }

  @Post(':name')
  @ApiOperation({
    operationId: 'updateOrder',
    summary: 'Modifies an order; members that are left out keep their value',
    description:
      'Every effective modification issues a new certificate, unless the order is paused or has no CSR.',
  })
  @ApiResponse({ status: 200, description: 'Success', type: OrderSchema })
  @FailsWith({ ...invalidOrder, ...noSuchOrder, ...conditioned, ...posted })
  async modify(
    @Write() write: WriteRequest,
    @OrderName() name: string,
    @BodyOf(OrderRequest) request: ReadMembers<OrderRequest>,
    @IfMatch() precondition: Precondition,
    @ValidQuery() { expand }: OrderQuery,
    @Res() reply: FastifyReply,
  ) {
    const modification = { name, request, precondition, expansion: orderExpansion(expand) };
    sendResponse(reply, await this.update.run(write, modification));
  }

  @Get()
  @ApiOperation({
    operationId: 'listOrders',
    summary: 'Lists the orders of the account by name',
    description: 'While there are more, the Link header carries rel="next".',
  })
  @ApiResponse({ status: 200, description: 'Success', type: [OrderSchema] })
  @FailsWith({ bad_query: 'A parameter is not valid' })
  async list(
    @Caller() { accountId }: CallerIdentity,
    @ValidQuery() query: OrdersQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.page(accountId, query));
  }

  @Get(':name')
  @ApiOperation({ operationId: 'getOrder', summary: 'Retrieves an order' })
  @ApiResponse({ status: 200, description: 'Success', type: OrderSchema })
  @FailsWith(noSuchOrder)
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @OrderName() name: string,
    @ValidQuery() query: OrderQuery,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.retrieval.one(accountId, name, query));
  }

  @Delete(':name')
  @ApiOperation({
    operationId: 'deleteOrder',
    summary: 'Removes an order; nothing is issued for it any more',
  })
  @ApiResponse({ status: 204, description: 'Done; no body' })
  @FailsWith({ ...noSuchOrder, ...conditioned })
  async remove(
    @Caller() { accountId }: CallerIdentity,
    @OrderName() name: string,
    @IfMatch() precondition: Precondition,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.deletion.run(accountId, name, precondition));
  }
}
