import { CertificateAuthorityEntity, ProductEntity } from '@certwright/core-schema';
import { WaitingIssuances } from '@certwright/ordering';
import { curveNames, rsaKeySizes } from '@certwright/pki';
import { decimalOf, type ProductAuthority } from '@certwright/issuance';
import { Command, InvalidArgumentError } from 'commander';
import type { DataSource } from 'typeorm';
import { currency, unsignedAmount } from './amounts';
import type { WithDatabase } from './with-database';

type Change = Partial<Omit<ProductEntity, 'name'>>;

interface Options extends Omit<Change, 'termDays'> {
  /** Hundredths. */
  readonly price?: number;
  readonly wildcardPrice?: number;
  readonly termDays?: number | 'none';
}

/** Ten years, leap days included. */
const mostTermDays = 3_653;

/** Hundredths: a hundred names for many terms are still one charge. */
const highestPriceCents = 1_000_000;

export function productCommands(withDatabase: WithDatabase): Command {
  const product = new Command('product').description(
    'what can be ordered; running processes follow within 5 seconds',
  );
  product
    .command('list')
    .description('list the products with all their rules')
    .action(async () => {
      await withDatabase(async (database) => {
        const products = await database.getRepository(ProductEntity).find({ order: { name: 'ASC' } });
        for (const row of products) console.log(JSON.stringify(row));
      });
    });
  product
    .command('set <name>')
    .description('change rules of a product; what exists already keeps what it was issued with')
    .option('--available <true|false>', 'whether it can be ordered and issued', boolean)
    .option('--lifetime-days <days>', 'lifetime of a certificate, 1 to 397', integer)
    .option('--max-dns-names <count>', 'names per order, 1 to 100', integer)
    .option(
      '--subject-common-name <true|false>',
      'whether the first name also stands in the subject',
      boolean,
    )
    .option('--email-approval <true|false>', 'whether names may be approved by email', boolean)
    .option(
      '--authorities <name[:profile],…>',
      'CAs in order of preference, each with a profile of its own; empty: the built-in CA alone',
      authorities,
    )
    .option('--http-approval <true|false>', 'whether names may be approved by a web server rule', boolean)
    .option(
      '--rsa-sizes <bits,…>',
      `RSA keys that it takes: ${rsaKeySizes.join(', ')}; empty: none`,
      (text) => someOf(text, rsaKeySizes.map(String)).map(Number),
    )
    .option('--curves <curve,…>', `ECDSA keys that it takes: ${curveNames.join(', ')}; empty: none`, (text) =>
      someOf(text, curveNames),
    )
    .option(
      '--term-days <days>',
      `what one purchase covers, 1 to ${mostTermDays} days; none: nothing is sold by time`,
      termDays,
    )
    .option('--price <amount>', 'of a term, for each name, as 12.34', price)
    .option('--wildcard-price <amount>', 'of a term, for each wildcard name', price)
    .option('--currency <code>', 'ISO 4217, as USD', currency)
    .action(async (name: string, { price, wildcardPrice, termDays, ...rules }: Options) => {
      const change: Change = {
        ...rules,
        ...(termDays === undefined ? {} : { termDays: termDays === 'none' ? null : termDays }),
        ...(price === undefined ? {} : { priceCents: price }),
        ...(wildcardPrice === undefined ? {} : { wildcardPriceCents: wildcardPrice }),
      };
      if (Object.keys(change).length === 0) throw new Error('Nothing to change: see `product set --help`.');
      await withDatabase(async (database) => {
        await check(database, name, change);
        await database.getRepository(ProductEntity).update({ name }, change);
        // Another CA may serve what waits for one that is down.
        if (change.authorities !== undefined) await new WaitingIssuances(database).reconsider();
        console.log(`product ${name}: ${JSON.stringify(change)}`);
      });
    });
  return product;
}

/** @throws Error when the product, or a CA that it is to name, does not exist, or it would take no key at all */
async function check(database: DataSource, name: string, change: Change): Promise<void> {
  const product = await database.getRepository(ProductEntity).findOneBy({ name });
  if (product === null) throw new Error(`There is no product ${name}.`);
  const { rsaSizes, curves } = { ...product, ...change };
  if (rsaSizes.length + curves.length === 0) throw new Error('A product takes RSA or ECDSA keys, or both.');
  if (change.authorities === undefined) return;
  const known = new Set(
    (await database.getRepository(CertificateAuthorityEntity).find()).map((row) => row.name),
  );
  const unknown = change.authorities.map((authority) => authority.name).filter((each) => !known.has(each));
  if (unknown.length === 0) return;
  const there = [...known].sort().join(', ') || 'none (see `authority add`)';
  throw new Error(`There is no authority ${unknown.join(', ')}; there are: ${there}.`);
}

/** `letsencrypt:classic,other` */
function authorities(text: string): ProductAuthority[] {
  const listed = listOf(text).map((entry) => {
    const [, name = '', profile = null] = /^([a-z0-9-]+)(?::([A-Za-z0-9._-]+))?$/.exec(entry) ?? [];
    if (name === '') throw new InvalidArgumentError('name or name:profile is expected, separated by commas.');
    return { name, profile };
  });
  if (new Set(listed.map(({ name }) => name)).size < listed.length)
    throw new InvalidArgumentError('each authority is asked once.');
  return listed;
}

/** In the order of `all`. */
function someOf(text: string, all: readonly string[]): string[] {
  const wanted = listOf(text);
  if (!wanted.every((each) => all.includes(each)))
    throw new InvalidArgumentError(`any of ${all.join(', ')} is expected, separated by commas.`);
  return all.filter((each) => wanted.includes(each));
}

const listOf = (text: string): string[] => (text === '' ? [] : text.split(',').map((each) => each.trim()));

/** Commander takes null for a value that is missing. */
function termDays(text: string): number | 'none' {
  if (text === 'none') return text;
  const days = integer(text);
  if (days < 1 || days > mostTermDays)
    throw new InvalidArgumentError(`1 to ${mostTermDays} or none is expected.`);
  return days;
}

function price(text: string): number {
  const cents = unsignedAmount(text);
  if (cents > highestPriceCents)
    throw new InvalidArgumentError(`${decimalOf(highestPriceCents)} at most is expected.`);
  return cents;
}

function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('true or false is expected.');
  return text === 'true';
}

function integer(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is expected.');
  return Number(text);
}
