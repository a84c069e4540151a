import { Module } from '@nestjs/common';
import { AccountUsers } from './account-users';
import { Accounts } from './accounts';
import { ApiCredentials } from './api-credentials';
import { ApiKeys } from './api-keys';
import { Clusters } from './clusters';

const providers = [AccountUsers, Accounts, ApiCredentials, ApiKeys, Clusters];

/** Accounts, their users, API keys and clusters. */
@Module({ providers, exports: providers })
export class AccountsModule {}
