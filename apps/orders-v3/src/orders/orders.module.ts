import { Module } from '@nestjs/common';
import { BlockedKeysCheck } from '@certwright/api-front';
import { AccountsModule } from '@certwright/accounts';
import { ApprovalsModule } from '@certwright/approvals';
import { DeliveryModule } from '@certwright/delivery';
import { IdempotencyModule } from '@certwright/idempotency';
import { MonitoredEndpointsModule } from '@certwright/monitored-endpoints';
import { OrderingModule } from '@certwright/ordering';
import { ListTurns } from '@certwright/service';
import { OrdersController } from './orders.controller';
import { OrdersRepository } from './orders.repository';
import { AwaitedKeys } from './awaited-keys';
import { OrderLinks } from './order-json';
import { OrderContextReader } from './order-context';
import { OrderChanges } from './order-changes';
import { OrderIssuances } from './order-issuances';
import { OrderKeys } from './order-keys';
import { IssuanceContextReader } from './issuance-context';
import { OrderViews } from './order-views';
import { CreateOrder } from './create-order.use-case';
import { UpdateOrder } from './update-order.use-case';
import { RetrieveOrders } from './retrieve-orders.use-case';
import { DeleteOrder } from './delete-order.use-case';

@Module({
  imports: [
    AccountsModule,
    ApprovalsModule,
    DeliveryModule,
    IdempotencyModule,
    MonitoredEndpointsModule,
    OrderingModule,
  ],
  controllers: [OrdersController],
  providers: [
    BlockedKeysCheck,
    ListTurns,
    AwaitedKeys,
    OrderLinks,
    OrdersRepository,
    OrderContextReader,
    OrderChanges,
    OrderIssuances,
    OrderKeys,
    IssuanceContextReader,
    OrderViews,
    CreateOrder,
    UpdateOrder,
    RetrieveOrders,
    DeleteOrder,
  ],
  exports: [ListTurns, OrderChanges, OrderViews, OrdersRepository],
})
export class OrdersModule {}
