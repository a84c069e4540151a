import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { RetrieveInvoices } from './retrieve-invoices.use-case';

/** Behind a number: the invoice as a page to print. */
const printableSuffix = '.html';

@Controller('api/v2/invoices')
@RequirePermission('Order and Manage Certificates')
export class InvoicesController {
  constructor(private readonly retrieval: RetrieveInvoices) {}

  @Get()
  async list(
    @Caller() { accountId }: CallerIdentity,
    @Query() query: { readonly after?: unknown; readonly limit?: unknown },
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, await this.retrieval.page(accountId, query));
  }

  @Get(':number')
  async one(
    @Caller() { accountId }: CallerIdentity,
    @Param('number') number: string,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(
      reply,
      number.endsWith(printableSuffix)
        ? await this.retrieval.printable(accountId, number.slice(0, -printableSuffix.length))
        : await this.retrieval.one(accountId, number),
    );
  }
}
