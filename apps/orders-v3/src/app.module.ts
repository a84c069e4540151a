import { CorePersistenceModule } from '@certwright/persistence';
import { type DynamicModule, Module } from '@nestjs/common';
import { CertificatesController } from './certificates/certificates.controller';
import { RetrieveCertificates } from './certificates/retrieve-certificates.use-case';
import { OrdersConfig } from './config';
import { DocsController } from './docs/docs.controller';
import { Documentation } from './docs/documentation';
import { DownloadController } from './download/download.controller';
import { DownloadCurrentCertificate } from './download/download-current-certificate.use-case';
import { CreateOrder } from './orders/create-order.use-case';
import { DeleteOrder } from './orders/delete-order.use-case';
import { OrderChanges } from './orders/order-changes';
import { OrderFactsReader } from './orders/order-facts';
import { OrdersController } from './orders/orders.controller';
import { OrdersRepository } from './orders/orders.repository';
import { OrderViews } from './orders/order-views';
import { RepeatableRequests } from './orders/repeatable-requests';
import { RetrieveOrders } from './orders/retrieve-orders.use-case';
import { UpdateOrder } from './orders/update-order.use-case';
import { PublicationsController } from './publications/publications.controller';
import { RetrievePublication } from './publications/retrieve-publication.use-case';
import { Addresses } from './wire/addresses';
import { OrderSurroundings } from './wire/order-json';

const orders = [
  OrdersRepository,
  OrderFactsReader,
  OrderChanges,
  OrderViews,
  RepeatableRequests,
  CreateOrder,
  UpdateOrder,
  RetrieveOrders,
  DeleteOrder,
];

@Module({})
export class AppModule {
  static forRoot(config: OrdersConfig): DynamicModule {
    const addresses = new Addresses(config.PUBLIC_URL);
    return {
      module: AppModule,
      imports: [
        CorePersistenceModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'orders-v3',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
      ],
      controllers: [
        OrdersController,
        CertificatesController,
        DownloadController,
        PublicationsController,
        DocsController,
      ],
      providers: [
        { provide: OrdersConfig, useValue: config },
        { provide: Addresses, useValue: addresses },
        { provide: OrderSurroundings, useValue: new OrderSurroundings(addresses, config.APPROVAL_ZONE) },
        ...orders,
        RetrieveCertificates,
        DownloadCurrentCertificate,
        RetrievePublication,
        Documentation,
      ],
    };
  }
}
