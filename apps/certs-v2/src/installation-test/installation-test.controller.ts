import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { fieldsIn, readArguments, type Sent } from '../wire/arguments';
import { readCommonName } from '../wire/common-name';
import { commonName, DescribesGet } from '../wire/openapi/operation';
import { TestInstallation, TestQuery } from './test-installation.use-case';
import { TestResultJson } from './test-results';

@Controller('api/v2/certs/:CN/test')
@RequirePermission('Order and Manage Certificates')
@commonName
export class InstallationTestController {
  constructor(private readonly testing: TestInstallation) {}

  @Get()
  @DescribesGet({
    summary: 'Tests which certificates servers serve',
    query: TestQuery,
    returns: [TestResultJson, 'result'],
    failsWith: ['no_such_cert', 'bad_param', 'inactive_cert'],
  })
  async test(
    @Caller() { accountId }: CallerIdentity,
    @Param('CN') cn: string,
    @Query() query: Sent,
    @Res() reply: FastifyReply,
  ) {
    const parameters = readArguments(TestQuery, fieldsIn(query));
    sendResponse(reply, await this.testing.run(accountId, readCommonName(cn), parameters));
  }
}
