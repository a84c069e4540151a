import { ApprovalsModule } from '@certwright/approvals';
import { Module } from '@nestjs/common';
import { ApprovalDns } from './approval-dns';

/** DNS for the approval zone. */
@Module({ imports: [ApprovalsModule], providers: [ApprovalDns] })
export class DnsModule {}
