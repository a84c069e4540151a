import { ApprovalsModule } from '@certwright/approvals';
import { Module } from '@nestjs/common';
import { ApprovalController } from './approval.controller';

/** The pages behind the links of approval mails. */
@Module({ imports: [ApprovalsModule], controllers: [ApprovalController] })
export class EmailApprovalsModule {}
