import { Module } from '@nestjs/common';
import { ApprovalsModule } from '@certwright/approvals';
import { DnsIntegrationsModule } from '@certwright/dns-integrations';
import { HostedChallengeRecords } from './hosted-challenge-records';
import { LeasedRecords } from './leased-records';

const providers = [HostedChallengeRecords, LeasedRecords];

/** Records that are published through DNS integrations. */
@Module({ imports: [ApprovalsModule, DnsIntegrationsModule], providers, exports: providers })
export class IntegrationsModule {}
