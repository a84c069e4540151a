import type { Parts } from '../parts';
import { ImportInstance } from './import-instance.use-case';
import { ImportedCertificates } from './imported-certificates.repository';
import { InstanceActionsController } from './instance-actions.controller';
import { InstanceRevocation } from './instance-revocation';
import { InstancesController } from './instances.controller';
import { ListInstances } from './list-instances.use-case';
import { OpenInstance } from './open-instance.use-case';
import { Openings } from './openings';
import { ParseCrtController } from './parse-crt.controller';
import { RedoApproval } from './redo-approval.use-case';
import { RevokeInstances } from './revoke-instances.use-case';

export const instanceActions: Parts = {
  controllers: [InstancesController, InstanceActionsController, ParseCrtController],
  providers: [
    ImportedCertificates,
    ImportInstance,
    InstanceRevocation,
    ListInstances,
    OpenInstance,
    Openings,
    RedoApproval,
    RevokeInstances,
  ],
};
