import { Module } from '@nestjs/common';
import { AccountsModule } from '@certwright/accounts';
import { ApprovalsModule } from '@certwright/approvals';
import { BillingModule } from '@certwright/billing';
import { OrderingModule } from '@certwright/ordering';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { AccountController } from './account.controller';
import { ClientVersionController } from './client-version.controller';
import { ProductsController } from './products.controller';
import { QuoteCertificate } from './quote-certificate.use-case';
import { RetrieveApiKey } from './retrieve-api-key.use-case';
import { RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';
import { RetrieveProduct } from './retrieve-product.use-case';

@Module({
  imports: [AccountsModule, ApprovalsModule, BillingModule, OrderingModule, CertObjectsModule],
  controllers: [AccountController, ClientVersionController, ProductsController],
  providers: [QuoteCertificate, RetrieveApiKey, RetrieveApprovalMethods, RetrieveProduct],
})
export class AccountModule {}
