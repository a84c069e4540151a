import { Accounts } from '@certwright/accounts';
import { Invoices } from './invoices.repository';
import { Inject, Injectable } from '@nestjs/common';
import { CertsConfig } from '../config';
import { type Answer, jsonAnswer } from '../wire/answer';
import { Refusal } from '../wire/reasons';
import { invoiceJson, type StoredInvoice } from './invoice-json';
import { contentSecurityPolicy, invoicePage } from './invoice-page';
import { isInvoiceNumber, nextPageLink, readInvoiceQuery } from './invoice-query';

@Injectable()
export class RetrieveInvoices {
  constructor(
    private readonly invoices: Invoices,
    private readonly accounts: Accounts,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'PUBLIC_URL'>,
  ) {}

  /** The newest first. @throws Refusal `bad_param` */
  async page(
    accountId: string,
    query: { readonly after?: unknown; readonly limit?: unknown },
  ): Promise<Answer> {
    const { after, limit } = readInvoiceQuery(query);
    // One more than is shown tells whether there is a next page.
    const found = await this.invoices.page(accountId, after, limit + 1);
    const { name } = await this.accounts.get(accountId);
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const data = shown.map((invoice) => invoiceJson(invoice, name));
    if (found.length <= limit || last === undefined) return jsonAnswer({ data });
    const address = `${this.config.PUBLIC_URL}/api/v2/invoices`;
    return jsonAnswer({ data }, { link: nextPageLink(address, last.number, limit) });
  }

  /** @throws Refusal `no_such_invoice` */
  async one(accountId: string, number: string): Promise<Answer> {
    const invoice = await this.find(accountId, number);
    const { name } = await this.accounts.get(accountId);
    return jsonAnswer(invoiceJson(invoice, name));
  }

  /** As a page to print. @throws Refusal `no_such_invoice` */
  async printable(accountId: string, number: string): Promise<Answer> {
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

  /** The same answer for a number that nobody has and for one that another account has. */
  private async find(accountId: string, number: string): Promise<StoredInvoice> {
    const invoice = isInvoiceNumber(number) ? await this.invoices.find(accountId, number) : null;
    if (invoice === null) throw new Refusal('no_such_invoice', 'The account has no invoice of this number.');
    return invoice;
  }
}
