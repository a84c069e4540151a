import { amountText } from '@certwright/issuance';
import { Balances, type Booking, bookingText, Ledger, type LedgerEntry } from '@certwright/billing';
import { Transactions } from '@certwright/core-schema';
import { Command, InvalidArgumentError } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { amount, currency, oneLine, unsignedAmount } from './option-values';
import type { WithDatabase } from './with-database';

/** Shown entries of the ledger. */
const shownEntries = 20;

interface AccountOption {
  readonly account: string;
}

interface AmountOptions extends AccountOption {
  /** Hundredths. */
  readonly amount: number;
  /** Default: that of the account. */
  readonly currency?: string;
}

interface BookingOptions extends AmountOptions {
  readonly note: string;
  readonly reference: string;
}

export function billingCommands(withDatabase: WithDatabase): Command {
  const billing = new Command('billing').description(
    'balances of accounts; amounts are decimal units of the currency, such as 12.34',
  );
  billing
    .command('show')
    .description(
      `show balance, credit limit and the newest ${shownEntries} ledger entries of an account: time, kind, amount, note, reference`,
    )
    .requiredOption('--account <id>', 'the account')
    .action(async ({ account }: AccountOption) => {
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        for (const line of await linesOf(database, accountId)) console.log(line);
      });
    });
  withCurrency(
    billing
      .command('credit')
      .description(
        'add a payment of the customer to the balance; a repetition with its reference changes nothing',
      )
      .requiredOption('--account <id>', 'the account')
      .requiredOption('--amount <amount>', 'amount paid, above 0', paidAmount)
      .requiredOption(
        '--reference <text>',
        'unique for each booking of the account: the number of the payment at the bank',
        reference,
      )
      .option('--note <text>', 'note in the ledger', note, 'payment'),
  ).action(async (options: BookingOptions) => await book(withDatabase, 'payment', options));
  withCurrency(
    billing
      .command('adjust')
      .description(
        'correct the balance; negative amounts reduce it, also below the credit limit; a repetition with its reference changes nothing',
      )
      .requiredOption('--account <id>', 'the account')
      .requiredOption('--amount <amount>', 'amount to add, such as 12.34 or -12.34', otherThanZero)
      .requiredOption(
        '--reference <text>',
        'unique for each booking of the account, such as the number of the ticket',
        reference,
      )
      .requiredOption('--note <text>', 'reason, stored in the ledger', note),
  ).action(async (options: BookingOptions) => await book(withDatabase, 'adjustment', options));
  withCurrency(
    billing
      .command('limit')
      .description('set how far the balance may go below 0')
      .requiredOption('--account <id>', 'the account')
      .requiredOption('--amount <amount>', '0: no credit', unsignedAmount),
  ).action(async (options: AmountOptions) => {
    await withDatabase(async (database) => {
      const accountId = await existingAccount(database, options.account);
      const { amount, currency } = options;
      const balances = new Balances(database);
      await new Transactions(database).run(
        async (tx) => await balances.setCreditLimit(tx, accountId, amount, currency ?? null),
      );
      console.log(await summary(database, accountId));
    });
  });
  return billing;
}

function withCurrency(command: Command): Command {
  return command.option(
    '--currency <code>',
    'ISO 4217, such as USD; default: that of the account. Its first amount sets it, by default to that of the products',
    currency,
  );
}

async function book(
  withDatabase: WithDatabase,
  kind: Booking['kind'],
  { account, amount: cents, currency, note, reference }: BookingOptions,
): Promise<void> {
  await withDatabase(async (database) => {
    const accountId = await existingAccount(database, account);
    const ledger = new Ledger(database);
    const booking = { accountId, kind, cents, currency: currency ?? null, note, reference };
    const booked = await new Transactions(database).run(async (tx) => await ledger.book(tx, booking));
    if (booked !== null)
      console.log(
        `account ${accountId}: "${reference}" is already booked, ${bookingText(booked)} at ${timeOf(booked)}; nothing was changed`,
      );
    console.log(await summary(database, accountId));
  });
}

async function summary(database: DataSource, accountId: string): Promise<string> {
  const { balanceCents, creditLimitCents, currency } = await new Balances(database).of(accountId);
  const balance = amountText(balanceCents, currency);
  return `account ${accountId}: balance ${balance}, credit limit ${amountText(creditLimitCents, currency)}`;
}

async function linesOf(database: DataSource, accountId: string): Promise<readonly string[]> {
  const entries = await new Ledger(database).newest(accountId, shownEntries);
  return [await summary(database, accountId), ...entries.map(lineOf)];
}

function lineOf(entry: LedgerEntry): string {
  const { kind, cents, currency, note, reference } = entry;
  return [timeOf(entry), kind, amountText(cents, currency), note, reference ?? '-'].join('\t');
}

const timeOf = ({ createdAt }: LedgerEntry): string => `${createdAt.toISOString().slice(0, 19)}Z`;

function paidAmount(given: string): number {
  const cents = unsignedAmount(given);
  if (cents === 0) throw new InvalidArgumentError('Expected an amount above 0.');
  return cents;
}

function otherThanZero(given: string): number {
  const cents = amount(given);
  if (cents === 0) throw new InvalidArgumentError('Expected an amount other than 0.');
  return cents;
}

const note = oneLine(500);

/** Without the spaces around it, so that a pasted reference is the same. */
const reference = (given: string): string => oneLine(100)(given.trim());
