import {
  ApprovalRecords,
  ApprovalsModule,
  EmailApprovals,
  HttpChallenges,
  WebRules,
} from '@certwright/approvals';
import { GatewayClient } from '@certwright/gateway-client';
import { ProbeQuestions } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, Module } from '@nestjs/common';
import { Config } from '../config';
import { DnsServers } from '@certwright/dns-lookup';
import { GatewayModule } from '../gateway/gateway.module';
import { NameServers } from '../name-servers/name-servers';
import { NameServersModule } from '../name-servers/name-servers.module';
import type { Approver } from './approver';
import { approversOf } from './approvers';
import { PublishApprovals } from './publish-approvals';

/** `readonly Approver[]`, in the order in which they are called. */
export const Approvers = Symbol('Approvers');

/** Interval of the clean-up of expired challenges and links, ms. */
const forgetEveryMs = 10 * 60 * 1_000;

/** Removes what has expired. */
@Injectable()
class ExpiredApprovals {
  constructor(
    private readonly challenges: HttpChallenges,
    private readonly emails: EmailApprovals,
  ) {}

  @Round('approvals')
  async forget(): Promise<number> {
    await this.challenges.forgetExpired();
    await this.emails.forgetExpired();
    return forgetEveryMs;
  }
}

/** Proofs that an account controls a name. */
@Module({
  imports: [ApprovalsModule, GatewayModule, NameServersModule],
  providers: [
    ExpiredApprovals,
    {
      provide: ProbeQuestions,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { name, log }: RunningProcess) =>
        new ProbeQuestions(redis, { name: `${name}-probes`, log }),
    },
    {
      provide: Approvers,
      inject: [
        Config,
        ApprovalRecords,
        HttpChallenges,
        WebRules,
        EmailApprovals,
        DnsServers,
        NameServers,
        ProbeQuestions,
      ],
      useFactory: (
        config: Config,
        records: ApprovalRecords,
        challenges: HttpChallenges,
        rules: WebRules,
        emails: EmailApprovals,
        { lookUp }: DnsServers,
        nameServers: NameServers,
        probes: ProbeQuestions,
      ): readonly Approver[] =>
        approversOf(
          config,
          { records, challenges, rules, emails },
          { lookUp, nameServers },
          async (question) => await probes.ask(question, config.PROBE_TIMEOUT),
        ),
    },
    {
      provide: PublishApprovals,
      inject: [Config, ApprovalRecords, GatewayClient],
      useFactory: ({ APPROVAL_ZONE }: Config, records: ApprovalRecords, gateway: GatewayClient | null) =>
        new PublishApprovals(records, APPROVAL_ZONE, gateway !== null),
    },
  ],
  exports: [Approvers, PublishApprovals],
})
export class NameApprovalsModule {}
