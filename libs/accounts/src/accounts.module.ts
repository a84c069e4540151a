import { Module } from '@nestjs/common';
import { Accounts, AccountUsers } from './accounts';
import { ApiCredentials } from './api-credentials';
import { ApiKeys } from './api-keys';
import { ClusterAgents } from './cluster-agents';
import { ClusterEnrolments } from './cluster-enrolments';
import { Clusters } from './clusters';
import { Installations } from './installations';

const providers = [
  AccountUsers,
  Accounts,
  ApiCredentials,
  ApiKeys,
  ClusterAgents,
  ClusterEnrolments,
  Clusters,
  Installations,
];

/** Accounts, their users, API keys, and clusters with their agents. */
@Module({ providers, exports: providers })
export class AccountsModule {}
