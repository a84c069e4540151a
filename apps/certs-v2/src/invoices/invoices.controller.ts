import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { fieldsIn, readArguments, type Sent } from '../wire/arguments';
import { DescribesGet } from '../wire/openapi/operation';
import { InvoiceJson } from './invoice-json';
import { InvoicesQuery, RetrieveInvoices } from './retrieve-invoices.use-case';

/** Behind a number: the invoice as a page to print. */
const printableSuffix = '.html';

@Controller('api/v2/invoices')
@RequirePermission('Order and Manage Certificates')
export class InvoicesController {
  constructor(private readonly retrieval: RetrieveInvoices) {}

  @Get()
  @DescribesGet({
    summary: 'Lists invoices, the newest first',
    query: InvoicesQuery,
    returns: [InvoiceJson],
    failsWith: ['bad_param'],
  })
  async list(@Caller() { accountId }: CallerIdentity, @Query() query: Sent, @Res() reply: FastifyReply) {
    const parameters = readArguments(InvoicesQuery, fieldsIn(query));
    sendResponse(reply, await this.retrieval.page(accountId, parameters));
  }

  @Get(':number')
  @ApiParam({ name: 'number', type: String, description: 'Number of the invoice.' })
  @DescribesGet({
    summary: 'Retrieves an invoice; with .html after the number, a page to print',
    returns: InvoiceJson,
    failsWith: ['no_such_invoice'],
  })
  async one(
    @Caller() { accountId }: CallerIdentity,
    @Param('number') number: string,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(
      reply,
      number.endsWith(printableSuffix)
        ? await this.retrieval.printable(accountId, number.slice(0, -printableSuffix.length))
        : await this.retrieval.one(accountId, number),
    );
  }
}
