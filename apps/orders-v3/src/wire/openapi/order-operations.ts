import { applyDecorators } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiBody, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { conditioned, failsWith, posted } from './errors';
import { OrderRequestSchema, OrderSchema } from './order-schema';
import { conditional, expandsOrder, idempotent, orderName, paged } from './parameters';

const body = ApiBody({ type: OrderRequestSchema });

/** What the OpenAPI document says about each route of orders. */
export const DescribesOrders = {
  all: applyDecorators(ApiTags('Orders'), ApiBearerAuth(), ApiBasicAuth()),
  create: applyDecorators(
    ApiOperation({
      operationId: 'createOrder',
      summary: 'Creates an order; a certificate is issued asynchronously',
    }),
    body,
    expandsOrder,
    idempotent,
    ApiResponse({ status: 201, description: 'Created', type: OrderSchema }),
    failsWith({
      bad_order: 'The body is not valid; see sub_errors',
      payment_required: 'Balance and credit limit of the account do not cover what it costs',
      already_exists: 'The name is taken',
      ...posted,
    }),
  ),
  modify: applyDecorators(
    ApiOperation({
      operationId: 'updateOrder',
      summary: 'Modifies an order; members that are left out keep their value',
      description:
        'Every effective modification issues a new certificate, unless the order is paused or has no CSR.',
    }),
    orderName,
    body,
    expandsOrder,
    idempotent,
    conditional,
    ApiResponse({ status: 200, description: 'Success', type: OrderSchema }),
    failsWith({
      bad_order: 'The body is not valid; see sub_errors',
      payment_required: 'Balance and credit limit of the account do not cover what it costs',
      order_not_found: 'No such order',
      ...conditioned,
      ...posted,
    }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getOrder', summary: 'Retrieves an order' }),
    orderName,
    expandsOrder,
    ApiResponse({ status: 200, description: 'Success', type: OrderSchema }),
    failsWith({ order_not_found: 'No such order' }),
  ),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listOrders',
      summary: 'Lists the orders of the account by name',
      description: 'While there are more, the Link header carries rel="next".',
    }),
    expandsOrder,
    paged('Name of the last order of the page before.'),
    ApiResponse({ status: 200, description: 'Success', type: [OrderSchema] }),
    failsWith({ bad_query: 'A parameter is not valid' }),
  ),
  remove: applyDecorators(
    ApiOperation({
      operationId: 'deleteOrder',
      summary: 'Removes an order; nothing is issued for it any more',
    }),
    orderName,
    conditional,
    ApiResponse({ status: 204, description: 'Done; no body' }),
    failsWith({ order_not_found: 'No such order', ...conditioned }),
  ),
};
