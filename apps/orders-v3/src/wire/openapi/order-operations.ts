import { applyDecorators } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiBody, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { OrderRequestSchema, OrderSchema } from './order-schema';
import { conditional, expandsOrder, failsWith, idempotent, orderName, paged } from './parameters';

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
    ApiResponse({ status: 201, type: OrderSchema }),
    failsWith({
      400: 'See sub_errors',
      402: 'Balance and credit limit of the account do not cover what it costs',
      409: 'The name is taken, or the Idempotency-Key is in use',
      422: 'The Idempotency-Key was used with another body',
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
    ApiResponse({ status: 200, type: OrderSchema }),
    failsWith({
      400: 'See sub_errors',
      402: 'Balance and credit limit of the account do not cover what it costs',
      404: 'No such order',
      409: 'The Idempotency-Key is in use',
      412: 'Another revision',
      422: 'The Idempotency-Key was used with another body',
    }),
  ),
  retrieve: applyDecorators(
    ApiOperation({ operationId: 'getOrder', summary: 'Retrieves an order' }),
    orderName,
    expandsOrder,
    ApiResponse({ status: 200, type: OrderSchema }),
    failsWith({ 404: 'No such order' }),
  ),
  list: applyDecorators(
    ApiOperation({
      operationId: 'listOrders',
      summary: 'Lists the orders of the account by name',
      description: 'While there are more, the Link header carries rel="next".',
    }),
    expandsOrder,
    paged('Name of the last order of the page before.'),
    ApiResponse({ status: 200, type: [OrderSchema] }),
    failsWith({ 400: 'A parameter is not valid' }),
  ),
  remove: applyDecorators(
    ApiOperation({
      operationId: 'deleteOrder',
      summary: 'Removes an order; nothing is issued for it any more',
    }),
    orderName,
    conditional,
    ApiResponse({ status: 204 }),
    failsWith({ 404: 'No such order', 412: 'Another revision' }),
  ),
};
