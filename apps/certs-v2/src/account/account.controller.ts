import { Accounts } from '@certwright/accounts';
import { Balances } from '@certwright/billing';
import { Authenticated, Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { jsonResponse, sendResponse } from '../wire/response';
import { Given, readArguments, type Sent } from '../wire/arguments';
import { DescribesGet, DescribesPost } from '../wire/openapi/operation';
import { AccountJson, accountJson, AccountRequest } from './account-json';
import { ApiCredentialsJson, RetrieveApiKey } from './retrieve-api-key.use-case';

@Controller('api/v2')
export class AccountController {
  constructor(
    private readonly accounts: Accounts,
    private readonly balances: Balances,
    private readonly apiKey: RetrieveApiKey,
  ) {}

  @Get('account')
  @RequirePermission('Order and Manage Certificates')
  @DescribesGet({
    summary: 'The account, its balance, and its part of distinguished names',
    returns: AccountJson,
  })
  async retrieve(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    const account = await this.accounts.get(accountId);
    sendResponse(reply, jsonResponse(accountJson(account, await this.balances.of(accountId))));
  }

  @Post('account')
  @RequirePermission('Order and Manage Certificates')
  @DescribesPost({
    summary: 'Changes the distinguished name that CSRs are made with, and which mails are sent',
    takes: AccountRequest,
    returns: AccountJson,
    failsWith: ['bad_country', 'bad_param'],
  })
  async change(@Caller() { accountId }: CallerIdentity, @Given() given: Sent, @Res() reply: FastifyReply) {
    const request = readArguments(AccountRequest, given);
    const { mail_when_issued: mailWhenIssued, mail_when_revoked: mailWhenRevoked } = request;
    if (mailWhenIssued !== undefined || mailWhenRevoked !== undefined) {
      await this.accounts.changeMailSettings(accountId, { mailWhenIssued, mailWhenRevoked });
    }
    const account = await this.accounts.changeSubject(accountId, request);
    sendResponse(reply, jsonResponse(accountJson(account, await this.balances.of(accountId))));
  }

  @Get('api_credentials')
  @Authenticated()
  @DescribesGet({
    summary: 'The API key of a user who signs in with user name and password',
    returns: ApiCredentialsJson,
  })
  async credentials(@Caller() caller: CallerIdentity, @Res() reply: FastifyReply) {
    const credentials: ApiCredentialsJson = { api_key: await this.apiKey.run(caller) };
    sendResponse(reply, jsonResponse(credentials));
  }
}
