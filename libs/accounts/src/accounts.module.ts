import { Module } from '@nestjs/common';
import { Accounts, AccountUsers, Clusters } from './accounts';
import { ApiCredentials } from './api-credentials';
import { ApiKeys } from './api-keys';

const providers = [AccountUsers, Accounts, ApiCredentials, ApiKeys, Clusters];

/** Accounts, their users, API keys and clusters. */
@Module({ providers, exports: providers })
export class AccountsModule {}
