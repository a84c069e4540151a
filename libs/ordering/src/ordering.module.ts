import { Module } from '@nestjs/common';
import { ApprovalsModule } from '@certwright/approvals';
import { BillingModule } from '@certwright/billing';
import { DeliveryModule } from '@certwright/delivery';
import { BlockedKeys } from './blocked-keys/blocked-keys';
import { Attachments } from './certificates/attachments';
import { Certificates } from './certificates/certificates';
import { Issuances } from './issuances/issuances';
import { LeasedIssuances } from './issuances/leased-issuances';
import { WaitingIssuances } from './issuances/waiting-issuances';
import { Plans } from './plans/plans';
import { Products } from './products/products';
import { Purchases } from './purchases/purchases';
import { Revocations } from './revocations/revocations';

const providers = [
  BlockedKeys,
  Attachments,
  Certificates,
  Issuances,
  LeasedIssuances,
  WaitingIssuances,
  Plans,
  Products,
  Purchases,
  Revocations,
];

/** Plans, terms, issuances and certificates. */
@Module({ imports: [ApprovalsModule, BillingModule, DeliveryModule], providers, exports: providers })
export class OrderingModule {}
