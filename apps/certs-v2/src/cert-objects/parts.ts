import type { Parts } from '../parts';
import { ApprovalHistory } from './approval-history';
import { ApprovalStatuses } from './approval-statuses';
import { CertObjectChanges } from './cert-object-changes';
import { CertObjectFactsReader } from './cert-object-facts';
import { CertObjectViews } from './cert-object-views';
import { CertObjectsController } from './cert-objects.controller';
import { CertObjectsRepository } from './cert-objects.repository';
import { CertProducts } from './cert-products';
import { RetrieveCertObjects } from './retrieve-cert-objects.use-case';
import { SaveCertObject } from './save-cert-object.use-case';
import { WebRuleLooks } from './web-rule-looks';

export const certObjects: Parts = {
  controllers: [CertObjectsController],
  providers: [
    ApprovalHistory,
    ApprovalStatuses,
    CertObjectChanges,
    CertObjectFactsReader,
    CertObjectViews,
    CertObjectsRepository,
    CertProducts,
    RetrieveCertObjects,
    SaveCertObject,
    WebRuleLooks,
  ],
};
