import type { Parts } from '../parts';
import { AccountController } from './account.controller';
import { ClientVersionController } from './client-version.controller';
import { ProductsController } from './products.controller';
import { QuoteCertificate } from './quote-certificate.use-case';
import { RetrieveApiKey } from './retrieve-api-key.use-case';
import { RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';
import { RetrieveProduct } from './retrieve-product.use-case';

export const account: Parts = {
  controllers: [AccountController, ClientVersionController, ProductsController],
  providers: [QuoteCertificate, RetrieveApiKey, RetrieveApprovalMethods, RetrieveProduct],
};
