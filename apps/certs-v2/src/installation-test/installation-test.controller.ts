import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { TestInstallation, type TestQuery } from './test-installation.use-case';

@Controller('api/v2/certs/:cn/test')
@RequirePermission('Order and Manage Certificates')
export class InstallationTestController {
  constructor(private readonly testing: TestInstallation) {}

  @Get()
  async test(
    @Caller() { accountId }: CallerIdentity,
    @Param('cn') cn: string,
    @Query() query: TestQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.testing.run(accountId, cn, query));
  }
}
