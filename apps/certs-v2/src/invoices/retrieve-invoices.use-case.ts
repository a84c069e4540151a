import { Accounts } from '@certwright/accounts';
import { Invoices } from './invoices.repository';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { type Reading, unreadable } from '../wire/arguments';
import { LimitArgument, nextPageLink, QueryArgument } from '../wire/page';
import { Refusal } from '../wire/reasons';
import { invoiceJson, type StoredInvoice } from './invoice-json';
import { contentSecurityPolicy, invoicePage } from './invoice-page';

/** Invoices on one page. */
const maxPage = 100;

/** `<account>-<running number of the account>`; invoice numbers have no other form. */
const numberShape = /^\d{1,19}-\d{1,10}$/;

export class InvoicesQuery {
  @QueryArgument('Number of the last invoice of the page before.', readNumber) after?: string;
  @LimitArgument(maxPage) limit?: number;
}

function readNumber(text: string): Reading<string> {
  return numberShape.test(text) ? text : unreadable('bad_param', 'after must be the number of an invoice.');
}

@Injectable()
export class RetrieveInvoices {
  constructor(
    private readonly invoices: Invoices,
    private readonly accounts: Accounts,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL'>,
  ) {}

  /** The newest first. */
  async page(accountId: string, { after, limit = maxPage }: InvoicesQuery): Promise<HttpResponse> {
    // One more than the page size shows whether there is a next page.
    const found = await this.invoices.page(accountId, after ?? null, limit + 1);
    const { name } = await this.accounts.get(accountId);
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const data = shown.map((invoice) => invoiceJson(invoice, name));
    if (found.length <= limit || last === undefined) return jsonResponse({ data });
    const address = `${this.config.PUBLIC_URL}/api/v2/invoices`;
    const size = limit === maxPage ? {} : { limit: String(limit) };
    return jsonResponse({ data }, { link: nextPageLink(address, { after: last.number, ...size }) });
  }

  /** @throws Refusal `no_such_invoice` */
  async one(accountId: string, number: string): Promise<HttpResponse> {
    const invoice = await this.find(accountId, number);
    const { name } = await this.accounts.get(accountId);
    return jsonResponse(invoiceJson(invoice, name));
  }

  /** As a page to print. @throws Refusal `no_such_invoice` */
  async printable(accountId: string, number: string): Promise<HttpResponse> {
    const invoice = await this.find(accountId, number);
    const { name } = await this.accounts.get(accountId);
    return {
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': contentSecurityPolicy,
      },
      body: invoicePage(invoice, name),
    };
  }

  /** The same response for an unknown number and for one of another account. */
  private async find(accountId: string, number: string): Promise<StoredInvoice> {
    const invoice = numberShape.test(number) ? await this.invoices.find(accountId, number) : null;
    if (invoice === null) throw new Refusal('no_such_invoice', 'The account has no invoice of this number.');
    return invoice;
  }
}
