import { Accounts } from '@certwright/accounts';
import { Balances } from '@certwright/billing';
import { Authenticated, Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { jsonAnswer, sendAnswer } from '../wire/answer';
import { type Arguments, Given } from '../wire/arguments';
import { accountJson } from './account-json';
import { RetrieveApiKey } from './retrieve-api-key.use-case';
import { readMailSettings } from './mail-settings-request';
import { readSubject } from './subject-request';

@Controller('api/v2')
export class AccountController {
  constructor(
    private readonly accounts: Accounts,
    private readonly balances: Balances,
    private readonly apiKey: RetrieveApiKey,
  ) {}

  @Get('account')
  @RequirePermission('Order and Manage Certificates')
  async retrieve(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    const account = await this.accounts.get(accountId);
    sendAnswer(reply, jsonAnswer(accountJson(account, await this.balances.of(accountId))));
  }

  @Post('account')
  @RequirePermission('Order and Manage Certificates')
  async change(
    @Caller() { accountId }: CallerIdentity,
    @Given() given: Arguments,
    @Res() reply: FastifyReply,
  ) {
    const [subject, mailSettings] = [readSubject(given), readMailSettings(given)];
    if (mailSettings !== null) await this.accounts.changeMailSettings(accountId, mailSettings);
    const account = await this.accounts.changeSubject(accountId, subject);
    sendAnswer(reply, jsonAnswer(accountJson(account, await this.balances.of(accountId))));
  }

  @Get('api_credentials')
  @Authenticated()
  async credentials(@Caller() caller: CallerIdentity, @Res() reply: FastifyReply) {
    sendAnswer(reply, jsonAnswer({ api_key: await this.apiKey.run(caller) }));
  }
}
