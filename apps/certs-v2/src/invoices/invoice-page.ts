import { decimalOf } from '@certwright/issuance';
import { Html, html, inlineStyle, pagePolicy } from '@certwright/service';
import type { StoredInvoice } from './invoice-json';

const style = inlineStyle(`
  :root { color-scheme: light; }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 48rem; margin: 3rem auto; padding: 0 1rem; color: #1b1f24; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
  dt { font-weight: 600; }
  dd { margin: 0; overflow-wrap: anywhere; }
  table { width: 100%; border-collapse: collapse; margin: 2rem 0; }
  th, td { padding: .4rem .6rem; text-align: end; vertical-align: top; border-bottom: 1px solid #d0d7de; }
  th:first-child, td:first-child { text-align: start; overflow-wrap: anywhere; }
  tfoot th, tfoot td { border-bottom: 0; font-weight: 600; }
  .note { white-space: pre-line; overflow-wrap: anywhere; }
  .refunded { border: 2px solid #9a3412; padding: .6rem 1rem; }
  @page { margin: 2cm; }
  @media print {
    body { max-width: none; margin: 0; padding: 0; font-size: 11pt; color: #000; }
    thead { display: table-header-group; }
    tr, .note { break-inside: avoid; }
  }
`);

export const contentSecurityPolicy = pagePolicy(style);

/** A page to print. Texts are customers' own, in any script and direction, hence `bdi`. */
export function invoicePage(invoice: StoredInvoice, accountName: string): string {
  const { number, issuedAt, note, refundedAt } = invoice;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Invoice ${number}</title>
        ${style.element}
      </head>
      <body>
        <h1>Invoice ${number}</h1>
        ${refundedAt === null ? '' : refundedNote(refundedAt)}
        <dl>
          <dt>Date</dt>
          <dd>${dateOf(issuedAt)}</dd>
          <dt>Account</dt>
          <dd><bdi>${accountName}</bdi></dd>
        </dl>
        ${linesTable(invoice)}
        ${
          note === null
            ? ''
            : html`<h2>Note</h2>
                <p class="note" dir="auto">${note}</p>`
        }
      </body>
    </html> `.markup;
}

function refundedNote(refundedAt: Date): Html {
  return html`<p class="refunded">
    Given back on ${dateOf(refundedAt)}: the amount was returned to the balance of the account.
  </p>`;
}

function linesTable({ lines, totalCents, currency }: StoredInvoice): Html {
  const rows = lines.map(
    ({ description, quantity, unitCents, cents }) =>
      html`<tr>
        <td><bdi>${description}</bdi></td>
        <td>${String(quantity)}</td>
        <td>${decimalOf(unitCents)}</td>
        <td>${decimalOf(cents)}</td>
      </tr>`,
  );
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Description</th>
        <th scope="col">Quantity</th>
        <th scope="col">Unit price (${currency})</th>
        <th scope="col">Amount (${currency})</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row" colspan="3">Total</th>
        <td>${decimalOf(totalCents)}</td>
      </tr>
    </tfoot>
  </table>`;
}

/** The day in UTC, as ISO 8601 writes it. */
const dateOf = (at: Date): string => at.toISOString().slice(0, 10);
