import type { Parts } from '../parts';
import { ApprovalFactsRepository } from './approval-facts.repository';
import { ClosedInstances } from './closed-instances';
import { ImportInstance } from './import-instance.use-case';
import { ImportedCertificates } from './imported-certificates.repository';
import { InstanceActionsController } from './instance-actions.controller';
import { InstanceRevocation } from './instance-revocation';
import { InstanceViews } from './instance-views';
import { InstancesController } from './instances.controller';
import { InstancesRepository } from './instances.repository';
import { ListInstances } from './list-instances.use-case';
import { OpenInstance } from './open-instance.use-case';
import { Openings } from './openings';
import { ParseCrtController } from './parse-crt.controller';
import { RedoApproval } from './redo-approval.use-case';
import { RetrieveInstance } from './retrieve-instance.use-case';
import { RevokeInstances } from './revoke-instances.use-case';

/** What the process opens for them before the application is there: see `open-waiting.ts`. */
export const instances: Parts = {
  controllers: [InstancesController, InstanceActionsController, ParseCrtController],
  providers: [
    ApprovalFactsRepository,
    ClosedInstances,
    ImportedCertificates,
    ImportInstance,
    InstanceRevocation,
    InstancesRepository,
    InstanceViews,
    ListInstances,
    OpenInstance,
    Openings,
    RedoApproval,
    RetrieveInstance,
    RevokeInstances,
  ],
};
