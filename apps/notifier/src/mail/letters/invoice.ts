import { amountText, decimalOf } from '@certwright/issuance';
import type { InvoiceSubject } from '../mail-subjects';
import { type Block, dateOf, type Letter, list, paragraph, quote, type Table } from '../letter';

export function invoiceLetter(subject: InvoiceSubject): Letter {
  const { number, accountName, issuedAt, totalCents, currency, note } = subject;
  const total = amountText(totalCents, currency);
  return {
    subject: [`Invoice ${number} for ${total}`],
    blocks: [
      paragraph(`Invoice ${number} of ${dateOf(issuedAt)} for the account `, quote(accountName), ':'),
      linesTable(subject),
      paragraph(`The total of ${total} was taken from the balance of the account.`),
      ...(note === null ? [] : noteBlocks(note)),
      paragraph(
        'You receive this mail because the account set this address for copies of its invoices. No payment is due.',
      ),
    ],
  };
}

function linesTable({ lines, totalCents, currency }: InvoiceSubject): Table {
  return {
    kind: 'table',
    columns: [
      { heading: 'Description', align: 'start' },
      { heading: 'Quantity', align: 'end' },
      { heading: `Unit price (${currency})`, align: 'end' },
      { heading: `Amount (${currency})`, align: 'end' },
    ],
    rows: [
      ...lines.map(({ description, quantity, unitCents, cents }) => [
        quote(description),
        String(quantity),
        decimalOf(unitCents),
        decimalOf(cents),
      ]),
      ['Total', '', '', decimalOf(totalCents)],
    ],
  };
}

/** The buyer's note, line by line. */
function noteBlocks(note: string): readonly Block[] {
  const lines = note.split(/\r\n|[\n\r]/).filter((line) => line.trim() !== '');
  const [line, ...more] = lines;
  if (line === undefined) return [];
  return more.length === 0
    ? [paragraph('Note of the buyer: ', quote(line))]
    : [paragraph('Note of the buyer:'), list(lines)];
}
